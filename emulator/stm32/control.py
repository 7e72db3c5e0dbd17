"""Commands of both modes, with free-running time and in lockstep."""

from record import Record


def status(machine):
    """Returns the fields of every answer."""
    return {
        "micros": machine.now() / 1000,
        "cycles": machine.core.meter.cycles(),
        "instructions": machine.core.meter.instructions(),
        "flash_waits": machine.core.meter.waits(),
        "resets": machine.resets,
        "power_cuts": machine.power_cuts,
        "faults": machine.faults,
        "lost_bytes": machine.port.lost_bytes,
        "flash_erases": machine.flash.erases,
        "flash_programs": machine.flash.programs,
        "flash_ecc_errors": machine.flash.ecc.errors,
    }


def control(machine, tell, command):
    """Carries out a command."""
    name = command.get("cmd")
    if name == "stat":
        tell({"event": "stat", **status(machine)})
    elif name == "reset":
        machine.reset()
        tell({"event": "reset", **status(machine)})
    elif name == "power_cut":
        machine.power_cut()
        tell({"event": "power_cut", **status(machine)})
    elif name == "cut_at_flash_op":
        machine.flash.operations_to_cut = command["count"]
        tell({"event": "cut_at_flash_op", **status(machine)})
    elif name == "record_flash":
        machine.flash.record = Record(machine.flash)
        tell({"event": "record_flash", **status(machine)})
    elif name == "cut_again":
        record = machine.flash.record
        if record is None or not record.cut(command["count"]):
            tell({"event": "error", "message": f"no operation {command['count']} was recorded"})
        else:
            machine.power_cut()
            tell({"event": "cut_again", **status(machine)})
    elif name == "read":
        found = machine.read(command["address"], command["length"])
        tell({"event": "read", "bytes": found.hex()})
    elif name == "write":
        machine.write(command["address"], bytes.fromhex(command["bytes"]))
        tell({"event": "write"})
    elif name == "clock":
        rcc = machine.rcc
        tell({"event": "clock", "hertz": rcc.hclk, "violations": rcc.violations})
    else:
        tell({"event": "error", "message": f"unknown command {name}"})
