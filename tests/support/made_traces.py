"""Traces of a made job: each rank computes, reduces with its pair, then with all. Whose kernel is how long follows from who comes last."""
import gzip
import json
from pathlib import Path

BASE = 1700000000000000000  # ns since 1970
START = 5000000000000  # ns from there


class Rank:
    """Events of one rank, in ns; what happens is told in true time, and written by the rank's own clock."""

    def __init__(self, number, ranks, skew=0, launches=True):
        self.number, self.ranks, self.skew, self.launches, self.events, self.correlation = number, ranks, skew, launches, [], 0

    def event(self, category, name, begin, duration, thread=1, **args):
        begin += START + self.skew
        self.events.append('{"ph": "X", "cat": "%s", "name": %s, "pid": 1, "tid": %d, "ts": %d.%03d, "dur": %d.%03d, "args": %s}' % (
            category, json.dumps(name), thread, begin // 1000, begin % 1000, duration // 1000, duration % 1000, json.dumps(args)))

    def step(self, number, begin, duration):
        self.event("user_annotation", "ProfilerStep#%d" % number, begin, duration)

    def load(self, begin, duration):
        self.event("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", begin, duration)

    def kernel(self, begin, duration, name="gemm", operator="aten::mm", launch=None, category="kernel", **args):
        """A kernel, the call that launched it, and the operator around that."""
        self.correlation += 1
        if self.launches:
            launch = begin - 6000 if launch is None else launch
            self.event("cuda_runtime", "cudaLaunchKernel", launch, 3000, correlation=self.correlation)
            if operator:
                self.event("cpu_op", operator, launch - 1000, 5000)
        self.event(category, name, begin, duration, 7, correlation=self.correlation, **args)

    def collective(self, begin, duration, group, members, number, name="allreduce", elements=1000, **more):
        self.event("cpu_op", "record_param_comms", begin - 9000, 7000, **{"External id": 1000 + number + 100000 * int(group)})
        self.kernel(begin, duration, "ncclDevKernel_" + name, None, **{
            "External id": 1000 + number + 100000 * int(group), "Collective name": name, "dtype": "Float", "In msg nelems": elements,
            "Out msg nelems": elements, "Group size": len(members), "Process Group Name": group, "Process Group Description": "pairs" if len(members) == 2 else "default_pg",
            "Process Group Ranks": str(members), "Seq": number, **more})

    def text(self, head=True):
        events = ",\n".join(self.events)
        if not head:
            return "[\n%s\n]" % events
        info = {"rank": self.number, "world_size": self.ranks, "pg_config": []}
        return '{"schemaVersion": 1, "distributedInfo": %s,\n"traceEvents": [\n%s\n],\n"baseTimeNanoseconds": %d}\n' % (json.dumps(info), events, BASE)


def job(ranks=4, steps=3, slow=None, late_input=None, slow_pair=None, skews=(0, 700000, -300000, 2000000, 0, 0, 0, 0)):
    """Each step: 1 ms of data loader, 4 ms of computation, a reduction of pairs, 1 ms, a reduction of all.
    slow: {rank: factor of computation}; late_input: {rank: ns more}; slow_pair: (first rank of a pair, factor of its transfer)."""
    made = [Rank(r, ranks, skews[r % len(skews)]) for r in range(ranks)]
    now = [1000000] * ranks
    for step in range(steps):
        begin = list(now)
        for r in range(ranks):
            load = 1000000 + (late_input or {}).get(r, 0)
            made[r].load(now[r], load)
            work = int(4000000 * (slow or {}).get(r, 1))
            made[r].kernel(now[r] + load + 20000, work)
            now[r] += load + 20000 + work
        for first in range(0, ranks, 2):
            pair = [first, first + 1]
            transfer = int(1000000 * (slow_pair[1] if slow_pair and slow_pair[0] == first else 1))
            end = max(now[r] + 10000 for r in pair) + transfer
            for r in pair:
                made[r].collective(now[r] + 10000, end - now[r] - 10000, str(1 + first // 2), pair, step + 1)
                made[r].kernel(end + 5000, 1000000, "relu", "aten::relu")
                now[r] = end + 1005000
        end = max(now) + 10000 + 300000
        for r in range(ranks):
            made[r].collective(now[r] + 10000, end - now[r] - 10000, "0", list(range(ranks)), step + 1)
            now[r] = end
        for r in range(ranks):
            made[r].step(step, begin[r], now[r] - begin[r])
            now[r] += 5000
    return made


def write(folder, ranks, packed=True, head=True):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for rank in ranks:
        text = rank.text(head).encode()
        name = "host_rank%d.1700000000.pt.trace.json" % rank.number
        (folder / (name + (".gz" if packed else ""))).write_bytes(gzip.compress(text, mtime=0) if packed else text)
    return folder
