"""Operations of the flash written down, so that the power can fail in one after another without
doing again what came before them."""


class Record:
    """The flash's initial content, and the operations until the first cut."""

    def __init__(self, flash):
        self.flash = flash
        self.first = flash.memory.read(0, flash.memory.bytes)
        self.operations = []
        self.is_open = True

    def add(self, offset, after):
        if self.is_open:
            self.operations.append((offset, after))

    def cut(self, count):
        """Puts the flash where the power failed inside the `count`-th operation; whoever calls cuts
        the power. Tells whether there was one."""
        self.is_open = False
        if not 1 <= count <= len(self.operations):
            return False
        memory, ecc = self.flash.memory, self.flash.ecc
        ecc.torn.clear()
        memory.write(0, self.first)
        for offset, after in self.operations[: count - 1]:
            memory.write(offset, after)
        offset, after = self.operations[count - 1]
        ecc.tear(offset, memory.read(offset, len(after)), after)
        return True
