"""Keyword arguments as settings and flags of the program."""

import json
import os


def as_json(settings):
    """Settings as JSON; paths are written as text, and None is left out."""
    given = {name: value for name, value in settings.items() if value is not None}
    return json.dumps(given, sort_keys=True, default=os.fspath)


def as_flags(settings):
    """Settings as flags: min_df=5 is --min-df 5, a list is joined by commas, True is the flag alone, False and None are left out."""
    flags = []
    for name, value in settings.items():
        # A name that Python keeps for itself ends in _, as lambda_.
        flag = f"--{name.rstrip('_').replace('_', '-')}"
        if value is None or value is False:
            continue
        flags.append(flag)
        if isinstance(value, (list, tuple)):
            flags.append(",".join(map(str, value)))
        elif value is not True:
            flags.append(str(value))
    return flags
