"""logs.py - metric logs as the programs write them that log them, in few bytes; curves with a fault of one's choice."""
import json
import math
import struct
import zlib
from pathlib import Path

from tfevents import masked_crc


def varint(n):
    out = bytearray()
    n &= (1 << 64) - 1
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))


def number(field, n):
    return varint(field << 3) + varint(n)


def data(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, (bytes, bytearray)) else content.encode())


def curve(steps, fault=None):
    """[(step, loss, validation loss or None)]: it falls; with "nan" it is NaN from three quarters on, with "rise" it rises."""
    rows = []
    for i in range(steps):
        loss = 1 + 7 * math.exp(-0.1 * i) + 0.01 * math.sin(i)
        if fault == "nan" and i >= 3 * steps // 4:
            loss = math.nan
        if fault == "rise" and i > steps // 3:
            loss *= 1 + 0.4 * (i - steps // 3)
        rows.append((i, loss, loss * 1.05 if i % 5 == 4 else None))
    return rows


def frame(payload):
    head = struct.pack("<Q", len(payload))
    return head + struct.pack("<I", masked_crc(head)) + payload + struct.pack("<I", masked_crc(payload))


def tfevents(place, rows):
    """Scalars as tensors of double precision, so that no digit is lost."""
    content = frame(struct.pack("<Bd", 9, 1.0) + data(3, "brain.Event:2"))
    for step, loss, validation in rows:
        for tag, value in (("train/loss", loss), ("val/loss", validation)):
            if value is not None:
                tensor = data(8, number(1, 2) + data(2, b"") + data(4, struct.pack("<d", value)))
                content += frame(struct.pack("<Bd", 9, 1.0) + number(2, step) + data(5, data(1, data(1, tag) + tensor)))
    write(place / "events.out.tfevents.1795000000.host.7.0", content)


def wandb(place, rows, run="abc", started=None, steps=(), more=None):
    """`steps`: names, or beginnings with a star, and the name that they have as their step; `more`: further values by step."""
    content = bytearray(b":W&B" + struct.pack("<HB", 0xbee1, 0))

    def record(field, body):
        payload = data(field, body)
        left = 32768 - len(content) % 32768
        if left < len(payload) + 7:
            content.extend(bytes(left))
        content.extend(struct.pack("<IHB", zlib.crc32(b"\1" + payload), len(payload), 1) + payload)
    record(17, data(1, run) + (b"" if started is None else data(17, number(1, started))))
    for name, axis in steps:
        record(12, data(2 if name.endswith("*") else 1, name) + data(4, axis))
    for step, loss, validation in rows:
        values = {"train/loss": loss, "_step": step, **(more(step) if more else {})}
        if validation is not None:
            values["val/loss"] = validation
        record(2, b"".join(data(1, data(1, key) + data(16, json.dumps(value))) for key, value in values.items()))
    record(18, number(1, 0))
    write(place / ("run-1-%s/run-%s.wandb" % (run, run)), content)


def csv(place, rows):
    lines = ["%d,%r,%s" % (step, loss, "" if validation is None else repr(validation)) for step, loss, validation in rows]
    write(place / "metrics.csv", "step,train/loss,val/loss\n" + "\n".join(lines) + "\n")


def hf(place, rows):
    history = []
    for step, loss, validation in rows:
        history.append({"loss": loss, "step": step})
        if validation is not None:
            history.append({"eval_loss": validation, "step": step})
    write(place / "checkpoint-9/trainer_state.json", json.dumps({"global_step": 9, "log_history": history, "max_steps": 9}))


def mlflow(place, rows, run="0a1b", name="calm-owl-1"):
    base = place / "mlruns/1" / run
    write(place / "mlruns/1/meta.yaml", "experiment_id: '1'\nlifecycle_stage: active\nname: mnist\n")
    write(base / "meta.yaml", "run_id: %s\nrun_name: %s\nstatus: 3\nstart_time: 1795000000000\nlifecycle_stage: active\n" % (run, name))
    write(base / "params/lr", "0.1")
    (base / "metrics").mkdir(parents=True, exist_ok=True)
    if rows:  # MLflow leaves no empty file
        write(base / "metrics/train/loss", "".join("%d %r %d\n" % (step, loss, step) for step, loss, _ in rows))
    validation = "".join("%d %r %d\n" % (step, value, step) for step, _, value in rows if value is not None)
    if validation:
        write(base / "metrics/val/loss", validation)


def megatron(place, rows):
    lines = ["building", ]
    for step, loss, validation in rows:
        shown = "" if math.isnan(loss) else " lm loss: %.6E |" % loss
        lines.append(" iteration %8d/%8d | consumed samples: %8d |%s number of nan iterations: %3d |"
                     % (step, len(rows), step, shown, math.isnan(loss)))
        if validation is not None:
            lines.append(" validation loss at iteration %d | lm loss value: %.6E | " % (step, validation))
    write(place / "train.log", "\n".join(lines) + "\n")


def printed(place, rows):
    """A name and a number, and so on, as training scripts print them."""
    lines = ["building a model of 5M parameters"]
    for step, loss, validation in rows:
        lines.append("[rank0]:2026-11-01 10:00:00,123 - root - INFO - step: %2d  loss: %.5f  memory: 1.25GiB(5.00%%)  tps: 10,050" % (step, loss))
        if validation is not None:
            lines.append("[rank0]:2026-11-01 10:00:00,123 - root - INFO - validate step: %2d  loss: %.5f" % (step, validation))
    write(place / "train.out", "\n".join(lines) + "\n")


def lines(place, rows):
    """A JSON object a line."""
    write(place / "metrics.jsonl", "".join(json.dumps({"step": step, "train/loss": loss, **({} if validation is None else {"val/loss": validation})}) + "\n" for step, loss, validation in rows))


def dlfw(place, rows):
    lines = ["2026-11-01 10:00:00,000 - INFO - fc1_gradient_fp8_delayed_scaling_underflows%% \t\t\t\t iteration=%06d \t\t\t\t "
             "value=%.4f" % (step, loss) for step, loss, _ in rows]
    write(place / "nvdlfw_inspect_globalrank-0.log", "\n".join(lines) + "\n")


def monitor(place, rows):
    lines = ["0,%d,fc1.weight,reduced,1,%r" % (step, loss) for step, loss, _ in rows]
    write(place / "rank_0/grad_step0-9.csv", "vpp_stage,step,module_name,scope,micro_step,norm\n" + "\n".join(lines) + "\n")


def dump(place, rows):
    for step, loss, _ in rows:
        tensor = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "Max": loss, "Min": -loss, "Mean": 0.0, "Norm": None}
        write(place / ("step%d/rank0/dump.json" % step), json.dumps(
            {"task": "statistics", "data": {"Module.fc.Linear.forward.0": {"input_args": [tensor], "output": [tensor]}}}))


def database(place, rows):
    import sqlite3
    place.mkdir(parents=True, exist_ok=True)
    store = sqlite3.connect(place / "mlflow.db")
    store.executescript("pragma page_size=512; create table experiments (experiment_id, name, lifecycle_stage);"
                        "create table runs (run_uuid, name, status, start_time, end_time, lifecycle_stage, experiment_id);"
                        "create table metrics (key, value, timestamp, run_uuid, step, is_nan);"
                        "insert into experiments values (1, 'mnist', 'active');"
                        "insert into runs values ('0a1b', 'calm-owl-1', 'FINISHED', 1795000000000, 0, 'active', 1);")
    for step, loss, _ in rows:
        nan = math.isnan(loss)
        store.execute("insert into metrics values ('train/loss', ?, ?, '0a1b', ?, ?)", (0 if nan else loss, step, step, nan))
    store.commit()
    store.close()


KINDS = {"tb": tfevents, "wandb": wandb, "csv": csv, "hf": hf, "mlflow": mlflow, "mlflow_db": database, "megatron": megatron, "printed": printed,
         "dlfw": dlfw, "monitor": monitor, "dump": dump}


def make_seeds(directory):
    """A small log of each kind, for tests/fuzz/seed_trial.py."""
    for name, make in KINDS.items():
        make(Path(directory) / name, curve(6))
