"""Writes dumps of a flight recorder: pickles with the opcodes of c10d, and JSON.

A rank's program is a list of calls, which `Rank` records; `finish` says how far its device came.
"""
import json
import os
import struct

BEGIN = 1758610505000000000


class Pickle:
    """The opcodes that c10d writes: texts are memoised at first use, and so are frames."""

    def __init__(self):
        self.out = bytearray(b"\x80\x02")
        self.memo = {}

    def _keep(self, key):
        number = len(self.memo)
        self.memo[key] = number
        self.out += bytes((0x71, number)) if number < 256 else b"r" + struct.pack("<I", number)

    def _fetch(self, key):
        number = self.memo[key]
        self.out += bytes((0x68, number)) if number < 256 else b"j" + struct.pack("<I", number)

    def put(self, value):
        if value is None:
            self.out += b"N"
        elif isinstance(value, bool):
            self.out += b"\x88" if value else b"\x89"
        elif isinstance(value, int):
            if 0 <= value < 256:
                self.out += b"K" + bytes((value,))
            elif -(2 ** 31) <= value < 2 ** 31:
                self.out += b"J" + struct.pack("<i", value)
            else:
                self.out += b"\x8a\x08" + struct.pack("<q", value)
        elif isinstance(value, float):
            self.out += b"G" + struct.pack(">d", value)
        elif isinstance(value, str):
            if value in self.memo:
                self._fetch(value)
            else:
                text = value.encode()
                self.out += b"X" + struct.pack("<I", len(text)) + text
                self._keep(value)
        elif isinstance(value, tuple):
            for item in value:
                self.put(item)
            self.out += {1: b"\x85", 2: b"\x86", 3: b"\x87"}[len(value)]
        elif isinstance(value, list):
            self.out += b"]("
            for item in value:
                self.put(item)
            self.out += b"e"
        elif id(value) in self.memo:
            self._fetch(id(value))
        else:
            self.out += b"}("
            for key, item in value.items():
                self.put(key)
                self.put(item)
            self.out += b"u"
            if "filename" in value:
                self._keep(id(value))

    def bytes(self, value):
        self.put(value)
        return bytes(self.out + b".")


class Group:
    def __init__(self, name, description, ranks):
        self.name, self.description, self.ranks = name, description, ranks


class Rank:
    """What one rank recorded. `version` and `frames` as the recorder writes them."""

    def __init__(self, number, groups, frames=True):
        self.number, self.frames = number, frames
        self.groups = [g for g in groups if number in g.ranks]
        self.entries = []
        self.count = {}
        self.clock = 0
        self.frame = [{"name": f"f{i}", "filename": "/job/train.py", "line": 100 + i} for i in range(3)]

    def call(self, group, operation, sizes=((16, 64),), state="completed", dtype="Float", p2p=False, again=False):
        """Records a call; `again`: a further part of the same region."""
        key = (group.name, p2p)
        self.count[key] = self.count.get(key, 0) + (not again)
        self.clock += 1000
        entry = {}
        if self.frames:
            entry["frames"] = list(self.frame)
        entry.update({
            "record_id": len(self.entries), "pg_id": self.groups.index(group),
            "process_group": (group.name, group.description),
            "collective_seq_id": self.count.get((group.name, False), 0),
            "p2p_seq_id": self.count.get((group.name, True), 0), "op_id": len(self.entries),
            "profiling_name": "nccl:" + operation, "time_created_ns": BEGIN + self.clock,
            "input_sizes": [list(s) for s in sizes], "input_dtypes": [dtype] * len(sizes),
            "output_sizes": [list(s) for s in sizes], "output_dtypes": [dtype] * len(sizes), "state": state,
            "time_discovered_started_ns": None,
            "time_discovered_completed_ns": BEGIN + self.clock + 1 if state == "completed" else None,
            "retired": state == "completed", "timeout_ms": 600000, "is_p2p": p2p})
        self.entries.append(entry)

    def dump(self):
        status = {}
        for index, group in enumerate(self.groups):
            mine = [e for e in self.entries if e["process_group"][0] == group.name and not e["is_p2p"]]
            numbers = [e["collective_seq_id"] for e in mine] or [-1]
            done = [e["collective_seq_id"] for e in mine if e["state"] == "completed"] or [-1]
            status[str(index)] = {"last_enqueued_collective": numbers[-1], "last_started_collective": -1,
                                  "last_completed_collective": done[-1]}
        config = {g.name: {"name": g.name, "desc": g.description, "ranks": str(g.ranks)} for g in self.groups}
        return {"version": "2.9", "pg_config": config, "nccl_version": "2.27.3", "pg_status": status,
                "entries": self.entries}


def as_json(dump):
    """The recorder's JSON: keys in order of the alphabet, numbers of the status as texts, no frames."""
    dump = json.loads(json.dumps(dump))
    for status in dump["pg_status"].values():
        for key in status:
            status[key] = str(status[key])
    for entry in dump["entries"]:
        entry.pop("frames", None)
        for key in ("time_discovered_started_ns", "time_discovered_completed_ns"):
            entry[key] = entry[key] or 0
    if not dump["entries"]:
        del dump["entries"]
    return json.dumps(dump, sort_keys=True, separators=(",", ":")).encode()


def write(directory, ranks, form="pickle"):
    os.makedirs(directory, exist_ok=True)
    for rank in ranks:
        data = Pickle().bytes(rank.dump()) if form == "pickle" else as_json(rank.dump())
        with open(os.path.join(directory, f"_dump_{rank.number}"), "wb") as out:
            out.write(data)


def stuck(stopped=(5,), ranks=8, steps=3):
    """Tensor groups of two, and all of them together: the ranks in `stopped` do not come to the last tensor call."""
    world = Group("0", "default_pg", list(range(ranks)))
    pairs = [Group(str(1 + r // 2), "TENSOR_MODEL_PARALLEL_GROUP", [r, r + 1]) for r in range(0, ranks, 2)]
    everybody = []
    for number in range(ranks):
        rank = Rank(number, [world] + pairs)
        pair = pairs[number // 2]
        for _ in range(steps):
            rank.call(pair, "all_reduce")
            rank.call(world, "all_reduce", sizes=((8,),))
        if number not in stopped:
            late = number ^ 1 in stopped
            rank.call(pair, "all_reduce", state="scheduled" if late else "completed")
            rank.call(world, "all_reduce", sizes=((8,),), state="scheduled")
        everybody.append(rank)
    return everybody
