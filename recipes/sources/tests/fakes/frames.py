"""A table of pandas as far as the scripts use one."""


class Frame:
    def __init__(self, columns, *rows):
        self.columns = columns
        self.cells = rows

    def __len__(self):
        return len(self.cells)

    def to_dict(self, form):
        assert form == "records"
        return [dict(zip(self.columns, row)) for row in self.cells]
