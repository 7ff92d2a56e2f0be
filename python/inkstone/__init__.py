"""砚 Inkstone in Python: projects, their tables, and clusters.

    import inkstone

    project = inkstone.demo("market")            # or inkstone.Project("workbench.toml")
    project.run()                                # as `inkstone run`
    tone = project.factor("tone")                # date, code, value, known_at
    tone.to_polars(), tone.to_pandas(), tone.to_alphalens()

`inkstone.ray` and `inkstone.spark` compute features on a cluster. All work is done by the program, which comes with this package.
"""

from ._program import Failed, Killed, program, run, version
from .project import Project, demo, init
from .table import Table

__all__ = ["Failed", "Killed", "Project", "Table", "demo", "init", "program", "run", "version"]
