"""plots.py - how jobs end: what the rank, node or scheduler that is the cause writes, and what follows from it elsewhere.

A plot says it at job.end, after the training of endings.py, or before it (early=True), and returns the truth. The wording is that of
the programs; a rank, a node and a version are chosen by the job's own random numbers.
"""
from endings import Truth

PLOTS = []


def plot(*ranks, early=False, layouts=None, torch=None):
    """ranks: how many a job of this kind may have. early None: it comes to a good end."""
    def take(function):
        function.ranks, function.early, function.layouts, function.torch = ranks, early, layouts, torch
        PLOTS.append(function)
        return function
    return take


def follow(job, rank, t, code=1, how=None):
    """The others lose the rank at once, or wait for it until NCCL's timeout. torchrun stops its own node's ranks at once."""
    how = how or job.random.choice(("lost", "timeout"))
    others = job.others(rank)
    if job.launcher == "torchrun":
        mates = [r for r in others if job.node(r) == job.node(rank)]
        others = [r for r in others if job.node(r) != job.node(rank)]
        if how == "lost":
            job.lost(mates, t + 0.3)
        job.ended(rank, t + 1, code, also=mates[:2] if how == "lost" else [])
        for mate in mates:
            job.stop(mate, t + 4)
    else:
        job.ended(rank, t + 1, code, also=others[:3] if how == "lost" else [], stops=how == "lost")
    if how == "lost":
        job.lost(others, t + 0.5)
    else:
        job.watchdog(others, t + 600)


def oom_text(job, device="CUDA"):
    a, free = "%.2f GiB" % job.random.uniform(0.5, 9), "%.2f MiB" % job.random.uniform(20, 900)
    gpu = job.random.randrange(8)
    if job.torch == "1.13":
        return "RuntimeError: %s out of memory. Tried to allocate %s (GPU %d; 79.15 GiB total capacity; 76.10 GiB already allocated; %s free; 77.30 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation." % (device, a, gpu, free)
    return "torch.%s: %s out of memory. Tried to allocate %s. GPU %d has a total %s of 79.15 GiB of which %s is free. Including non-PyTorch memory, this process has 78.20 GiB memory in use. Of the allocated memory 76.11 GiB is allocated by PyTorch." % (
        "cuda.OutOfMemoryError" if job.torch < "2.4" else "OutOfMemoryError", device, a, gpu, "capacty" if job.torch == "2.1" else "capacity", free)


# ---- one rank
@plot(8, 64, 512)
def gpu_memory_one(job):
    rank, t = job.some_rank(), job.end
    job.raised(rank, t, oom_text(job))
    follow(job, rank, t)
    return Truth("gpu_memory", [rank])


@plot(2, 8, 32)
def gpu_memory_all(job):
    for rank in range(job.ranks):
        job.raised(rank, job.end + job.random.uniform(0, 0.4), oom_text(job))
    job.ended(job.some_rank(), job.end + 1, 1, also=[])
    return Truth("gpu_memory", None)


@plot(4, 16)
def gpu_memory_amd(job):
    rank = job.some_rank()
    job.raised(rank, job.end, oom_text(job, "HIP"))
    follow(job, rank, job.end)
    return Truth("gpu_memory", [rank])


@plot(8, 32)
def gpu_memory_jax(job):
    rank, t = job.some_rank(), job.end
    job.raised(rank, t, "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate %d bytes." % job.random.randrange(10 ** 9, 10 ** 11))
    for other in job.others(rank):
        job.say(other, t + 20, "F0302 03:12:48.594200 1044529 client.h:77] Terminating process because the JAX distributed service detected fatal errors. This most likely indicates that another task died; see the other task logs for more details.")
        job.stop(other, t + 20)
    job.ended(rank, t + 21, 1)
    return Truth("gpu_memory", [rank])


@plot(4, 32, 256)
def exception_one(job):
    rank, t = job.some_rank(), job.end
    job.raised(rank, t, job.random.choice(("ValueError: math domain error", "KeyError: 'labels'", "ZeroDivisionError: float division by zero",
                                           "RuntimeError: The size of tensor a (77) must match the size of tensor b (78) at non-singleton dimension 1",
                                           "AssertionError: rank has 11 samples, expected 12")))
    follow(job, rank, t)
    return Truth("exception", [rank])


@plot(8, 64, early=True)
def exception_all(job):
    last = job.random.choice(("TypeError: __init__() got an unexpected keyword argument 'rotary_base'", "AttributeError: 'Namespace' object has no attribute 'seq_len'",
                              "ValueError: batch size 12 is not divisible by 8"))
    for rank in range(job.ranks):
        job.raised(rank, 15 + job.random.uniform(0, 2), last)
    job.ended(job.some_rank(), 18, 1)
    return Truth("exception", None)


@plot(8, 128)
def segfault_one(job):
    rank, t = job.some_rank(), job.end
    if job.random.random() < 0.5:
        job.say(rank, t, "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f2a4c0011 (most recent call first):\n  File \"/opt/app/ops/fused.py\", line 40 in forward")
    job.stop(rank, t)
    follow(job, rank, t, -11)
    return Truth("crash", [rank])


@plot(8, 64)
def heap_one(job):
    rank, t = job.some_rank(), job.end
    job.say(rank, t, job.random.choice(("free(): invalid pointer", "double free or corruption (!prev)", "corrupted size vs. prev_size")))
    job.stop(rank, t)
    follow(job, rank, t, -6)
    return Truth("crash", [rank])


@plot(8, 64, 512)
def killed_one(job):
    """kill -9, and nobody says why."""
    rank, t = job.some_rank(), job.end
    job.stop(rank, t)
    follow(job, rank, t, -9)
    return Truth("signal", [rank])


@plot(8, 64)
def silent_exit(job):
    """A rank goes without a word: os._exit(3)."""
    rank, t = job.some_rank(), job.end
    job.stop(rank, t)
    follow(job, rank, t, 3, "lost")
    return Truth({"launcher", "unknown"}, [rank], known=False)


@plot(8, 64, 256, layouts=("srun", "files", "folders", "tee"), torch=("2.2", "2.4", "2.6"))
def hang_one(job):
    """A rank that does not come to a collective: it says nothing, all others say the timeout."""
    rank, t = job.some_rank(), job.end
    if job.progress == "bar" or job.ranks > 64:
        for step in range(job.steps):
            for r in range(job.ranks):
                if r:
                    job.log(r, job.time_of_step(step), "step %d loss 2.5" % (job.first_step + step))
    job.watchdog(job.others(rank), t + 600)
    job.launch(t + 606, "srun: error: Timed out waiting for job step to complete")
    return Truth("collective_timeout", [rank])


@plot(4, 16)
def barrier_one(job):
    rank, t = job.some_rank() or 1, job.end
    job.raised(0, t + 30, "RuntimeError: [Rank 0]: Rank %d failed to pass monitoredBarrier in 30000 ms\nOriginal exception: \n[../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 30000ms for recv operation to complete" % rank)
    job.lost([r for r in range(1, job.ranks) if r != rank], t + 31, "gloo")
    return Truth("collective_timeout", [rank])


@plot(8, 64)
def device_assert_one(job):
    rank, t = job.some_rank(), job.end
    for thread in range(9):
        job.say(rank, t, "../aten/src/ATen/native/cuda/%s: block: [0,0,0], thread: [%d,0,0] Assertion `%s` failed." % (("Loss.cu:250: nll_loss_forward_reduce_cuda_kernel_2d", thread, "t >= 0 && t < n_classes")
                if job.id % 2 else ("Indexing.cu:1292: indexSelectLargeIndex", thread, "srcIndex < srcSelectDimSize")))
    job.raised(rank, t + 0.2, "RuntimeError: CUDA error: device-side assert triggered\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1.")
    follow(job, rank, t)
    return Truth("device_assert", [rank])


@plot(8, 64)
def illegal_access(job):
    rank, t = job.some_rank(), job.end
    job.raised(rank, t, job.random.choice(("RuntimeError: CUDA error: an illegal memory access was encountered", "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx( handle, opa, opb, m, n, k)`",
                                           "RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED")))
    follow(job, rank, t)
    return Truth("gpu_code", [rank])


@plot(8, 32)
def amd_fault(job):
    rank, t = job.some_rank(), job.end
    job.say(rank, t, "Memory access fault by GPU node-%d (Agent handle: 0x5581f0) on address 0x7f2a4c000000. Reason: Page not present or supervisor privilege." % (rank % 8 + 1))
    job.stop(rank, t)
    follow(job, rank, t, -6)
    return Truth("gpu_code", [rank])


# ---- nodes
def xid(job, node, t, code, what):
    job.kernel_says(node, t, "NVRM: Xid (PCI:0000:%02x:00): %d, %s" % (job.random.choice((0x1b, 0x43, 0x52, 0x9d, 0xb3, 0xd1)), code, what))


@plot(16, 128, 1024)
def gpu_off_bus(job):
    rank, t = job.some_rank(), job.end
    node = job.node(rank)
    xid(job, node, t, 79, "pid='<unknown>', name=<unknown>, GPU has fallen off the bus.")
    job.raised(rank, t + 1, "RuntimeError: CUDA error: unspecified launch failure\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.")
    follow(job, rank, t + 1, 1, "timeout")
    return Truth("gpu_fault", job.ranks_of(node), [node])


@plot(16, 64)
def gpu_ecc(job):
    rank, t = job.some_rank(), job.end
    node = job.node(rank)
    xid(job, node, t, job.random.choice((48, 94, 95)), "pid=%d, name=python3, DBE (double bit error)" % job.pids[rank])
    xid(job, node, t + 0.1, 45, "pid=%d, name=python3, Ch 00000010" % job.pids[rank])
    job.raised(rank, t + 1, "RuntimeError: CUDA error: uncorrectable ECC error encountered")
    follow(job, rank, t + 1)
    return Truth("gpu_fault", job.ranks_of(node), [node])


@plot(8, 64)
def gpu_nvlink(job):
    rank, t = job.some_rank(), job.end
    node = job.node(rank)
    xid(job, node, t, 74, "pid=%d, name=python3, NVLink: fatal error detected on link 5(0x0, 0x10000)" % job.pids[rank])
    follow(job, rank, t + 1, 1, "timeout")
    return Truth("gpu_fault", job.ranks_of(node), [node])


@plot(8, 64)
def gpu_ecc_unlogged(job):
    """No kernel log was kept: the rank's own error is all there is."""
    rank, t = job.some_rank(), job.end
    job.raised(rank, t, "RuntimeError: CUDA error: uncorrectable ECC error encountered")
    follow(job, rank, t)
    return Truth("gpu_fault", [rank])


@plot(16, 64)
def host_memory_slurm(job):
    rank, t = job.some_rank(), job.end
    job.launcher = "srun"
    job.stop(rank, t)
    job.launch(t + 0.2, "slurmstepd: error: Detected 1 oom%skill event%s in StepId=%d.0%s" % (("-", "(s)", job.id, ". Some of your processes may have been killed by the cgroup out-of-memory handler.")
               if job.random.random() < 0.5 else ("_", "", job.id, ". Some of the step tasks have been OOM Killed.")))
    job.launch(t + 0.3, "srun: error: %s: task %d: Out Of Memory" % (job.node(rank), rank))
    job.lost(job.others(rank), t + 0.5)
    job.launch(t + 2, "srun: Terminating StepId=%d.0" % job.id)
    return Truth("host_memory", [rank])


@plot(8, 64)
def host_memory_kernel(job):
    rank, t = job.some_rank(), job.end
    node = job.node(rank)
    job.kernel_says(node, t - 0.1, "python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0")
    job.kernel_says(node, t, "%s: Killed process %d (python3) total-vm:981234124kB, anon-rss:640000000kB, file-rss:1024kB, shmem-rss:0kB" % (job.random.choice(("Memory cgroup out of memory", "Out of memory")), job.pids[rank]))
    job.stop(rank, t)
    follow(job, rank, t, -9)
    return Truth("host_memory", job.ranks_of(node), [node])


@plot(16, 128)
def node_lost(job):
    node, t = job.random.choice(job.names[1:]), job.end
    gone = job.ranks_of(node)
    for rank in gone:
        job.stop(rank, t)
    job.lost([r for r in range(job.ranks) if r not in gone], t + 20)
    job.launch(t + 45, "srun: error: Node failure on %s" % node)
    job.launch(t + 46, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
    job.launch(t + 47, "slurmstepd: error: *** JOB %d ON %s CANCELLED AT %s DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***" % (job.id, job.names[0], job.clock(None, t).isoformat()[:19]))
    return Truth("node_failure", gone, [node])


@plot(16, 128)
def port_down(job):
    rank, t = job.some_rank(), job.end
    node = job.node(rank)
    job.kernel_says(node, t, "mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link DOWN")
    job.say(rank, t + 0.5, "%s:%d:%d [%d] transport/net_ib.cc:95 NCCL WARN NET/IB : mlx5_5:1 Got async event : port error" % (node, job.pids[rank], job.pids[rank] + 7, rank % 8))
    for other in job.others(rank)[:6]:
        job.say(other, t + 12, "%s:%d:%d [%d] transport/net_ib.cc:1615 NCCL WARN NET/IB : Got completion from peer 10.4.7.2<54862> with status=12 opcode=0 len=0 vendor err 129 (Recv)" % (job.node(other), job.pids[other], job.pids[other] + 7, other % 8))
        job.raised(other, t + 13, "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:275, remote process exited or there was a network error\nncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.")
    job.watchdog(job.others(rank)[6:], t + 600)
    return Truth("network", job.ranks_of(node), [node])


# ---- the whole job
@plot(8, 256)
def time_limit(job):
    job.slurm_ends(job.end, " DUE TO TIME LIMIT")
    return Truth("time_limit")


@plot(8, 64)
def preempted(job):
    job.slurm_ends(job.end, " DUE TO PREEMPTION")
    return Truth("preempted")


@plot(8, 64)
def cancelled(job):
    job.slurm_ends(job.end, "")
    return Truth("cancelled")


@plot(8, 64)
def requeued(job):
    job.slurm_ends(job.end, " DUE TO JOB REQUEUE")
    return Truth("requeue")


# ---- files
@plot(8, 64)
def disk_full(job):
    t = job.end
    job.log(0, t - 0.5, "saving checkpoint-%d" % job.last_step)
    job.raised(0, t, job.random.choice(("OSError: [Errno 28] No space left on device: '/scratch/run7/checkpoint-%d/optimizer.pt'" % job.last_step, "OSError: [Errno 122] Disk quota exceeded",
                                        "OSError: [Errno 28] No space left on device\n\nDuring handling of the above exception, another exception occurred:\n\nRuntimeError: [enforce fail at inline_container.cc:424] . unexpected pos 8388736 vs 8388632")))
    follow(job, 0, t)
    return Truth("disk", [0])


@plot(8, 64)
def file_system_gone(job):
    rank, t = job.some_rank(), job.end
    job.raised(rank, t, job.random.choice(("OSError: [Errno 116] Stale file handle: '/data/corpus/train-00017.bin'", "OSError: [Errno 30] Read-only file system: '/scratch/run7/log'", "OSError: [Errno 5] Input/output error")))
    follow(job, rank, t)
    return Truth("disk", [rank])


@plot(8, 64)
def shard_missing(job):
    rank, t = job.some_rank(), job.end
    job.raised(rank, t, "FileNotFoundError: [Errno 2] No such file or directory: '/data/corpus/train-%05d.bin'" % job.random.randrange(99999))
    follow(job, rank, t)
    return Truth("missing_file", [rank])


@plot(16, early=True)
def node_not_allowed(job):
    node = job.random.choice(job.names)
    for rank in job.ranks_of(node):
        job.raised(rank, 15 + job.random.uniform(0, 0.5), "PermissionError: [Errno 13] Permission denied: '/data/corpus/index.json'")
    first = job.ranks_of(node)[0]
    job.lost([r for r in range(job.ranks) if job.node(r) != node], 17, "socket")
    job.ended(first, 18, 1)
    return Truth("permission", job.ranks_of(node))


# ---- numbers, checkpoints, data
@plot(8, 64)
def nan_one(job):
    rank, t = job.some_rank(), job.end
    job.raised(rank, t, job.random.choice(("AssertionError: Rank %d: found NaN in local grad norm in backward pass before data-parallel communication collective. Device: %d, node: %s" % (rank, rank % 8, job.node(rank)),
                                           "RuntimeError: Rank %d, node %s, device %d, iteration %d: Unexpected result nan (message='found NaN in local forward loss calculation')" % (rank, job.node(rank), rank % 8, job.last_step),
                                           "RuntimeError: Function 'LogBackward0' returned nan values in its 0th output.")))
    follow(job, rank, t)
    return Truth("nan_stop", [rank])


@plot(8, 64)
def nan_all(job):
    last = job.random.choice(("Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.", "FloatingPointError: Minimum loss scale reached (0.0001). Your loss is probably exploding. Try lowering the learning rate, using gradient clipping or increasing the batch size.",
                              "ValueError: The loss returned in `training_step` is nan."))
    for rank in range(job.ranks):
        job.raised(rank, job.end + job.random.uniform(0, 0.3), last)
    job.ended(job.some_rank(), job.end + 1, 1)
    return Truth("nan_stop")


@plot(8, 64, early=True)
def load_other_shapes(job):
    for rank in range(job.ranks):
        job.raised(rank, 15 + job.random.uniform(0, 1), "RuntimeError: Error(s) in loading state_dict for GPT:\n\tMissing key(s) in state_dict: \"blocks.24.attn.qkv.weight\", \"blocks.24.attn.proj.weight\". \n\tsize mismatch for lm_head.weight: copying a param with shape torch.Size([32000, 4096]) from checkpoint, the shape in current model is torch.Size([32064, 4096]).")
    job.ended(job.some_rank(), 18, 1)
    return Truth("checkpoint_load")


@plot(16, early=True)
def load_world_size(job):
    for rank in range(job.ranks):
        job.raised(rank, 15 + job.random.uniform(0, 1), "deepspeed.runtime.zero.utils.ZeRORuntimeException: The checkpoint being loaded used a DP world size of 32 but the current world size is 16. Automatic adjustment of ZeRO's optimizer state partitioning with a new world size is not currently supported.")
    job.ended(job.some_rank(), 18, 1)
    return Truth("checkpoint_load")


@plot(8, 32, early=True)
def load_cut(job):
    rank = job.some_rank()
    job.raised(rank, 15, job.random.choice(("RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory", "safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer")))
    job.lost(job.others(rank), 16, "socket")
    job.ended(rank, 17, 1)
    return Truth("checkpoint_load", [rank])


@plot(8, 64)
def loader_bus_error(job):
    rank, t = job.some_rank(), job.end
    job.say(rank, t, "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).")
    job.raised(rank, t + 0.1, "RuntimeError: DataLoader worker (pid %d) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit." % (job.pids[rank] + 50))
    follow(job, rank, t)
    return Truth("shared_memory", [rank])


@plot(8, 64)
def loader_killed(job):
    rank, t = job.some_rank(), job.end
    job.raised(rank, t, job.random.choice(("RuntimeError: DataLoader worker (pid %d) is killed by signal: Killed." % (job.pids[rank] + 50), "RuntimeError: DataLoader worker (pid(s) %d) exited unexpectedly" % (job.pids[rank] + 50))),
               chained="RuntimeError: DataLoader worker (pid %d) is killed by signal: Killed." % (job.pids[rank] + 50))
    follow(job, rank, t)
    return Truth("worker_killed", [rank])


@plot(8, 64)
def data_bad(job):
    rank, t = job.some_rank(), job.end
    job.raised(rank, t, job.random.choice(("pyarrow.lib.ArrowInvalid: Parquet magic bytes not found in footer. Either the file is corrupted or this is not a parquet file.", "IndexError: index out of range in self",
                                           "PIL.UnidentifiedImageError: cannot identify image file <_io.BytesIO object at 0x7f2a>", "RuntimeError: stack expects each tensor to be equal size, but got [3, 224, 224] at entry 0 and [1, 224, 224] at entry 7")))
    follow(job, rank, t)
    return Truth("data", [rank])


@plot(8, 64, early=True)
def tokenizer_missing(job):
    for rank in range(job.ranks):
        job.raised(rank, 15 + job.random.uniform(0, 1), "OSError: Can't load tokenizer for '/models/base7b'. If you were trying to load it from a hub, make sure you don't have a local directory with the same name.")
    job.ended(job.some_rank(), 18, 1)
    return Truth("data")


# ---- meeting
@plot(16, 64, early=True)
def port_taken(job):
    job.say(0, 4, "[W socket.cpp:426] [c10d] The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).\n[W socket.cpp:426] [c10d] The server socket has failed to bind to 0.0.0.0:29500 (errno: 98 - Address already in use).\n[E socket.cpp:462] [c10d] The server socket has failed to listen on any local network address.")
    job.raised(0, 4.2, "RuntimeError: The server socket has failed to listen on any local network address. The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).")
    for rank in job.others(0):
        job.raised(rank, 304, "TimeoutError: The client socket has timed out after 300s while trying to connect to (%s, 29500)." % job.names[0])
    job.ended(0, 305, 1)
    return Truth("port", [0])


@plot(16, 64, early=True)
def too_few_came(job):
    job.raised(0, 904, "torch.distributed.DistStoreError: Timed out after 901 seconds waiting for clients. %d/%d clients joined." % (job.ranks - 1, job.ranks))
    for rank in range(1, job.ranks - 1):
        job.raised(rank, 905, "torch.distributed.DistStoreError: Socket Timeout")
    return Truth("rendezvous", "any")


@plot(16, 32, early=True)
def module_missing(job):
    node = job.random.choice(job.names)
    for rank in job.ranks_of(node):
        job.raised(rank, 5 + job.random.uniform(0, 0.5), job.random.choice(("ModuleNotFoundError: No module named 'flash_attn'", "ModuleNotFoundError: No module named 'flash_attn'")))
    job.lost([r for r in range(job.ranks) if job.node(r) != node], 17, "socket")
    job.ended(job.ranks_of(node)[0], 18, 1)
    return Truth("import", job.ranks_of(node))


@plot(16, early=True)
def driver_old(job):
    node = job.random.choice(job.names)
    for rank in job.ranks_of(node):
        job.raised(rank, 5 + job.random.uniform(0, 0.5), "RuntimeError: The NVIDIA driver on your system is too old (found version 11040). Please update your GPU driver.")
    job.lost([r for r in range(job.ranks) if job.node(r) != node], 17, "socket")
    job.ended(job.ranks_of(node)[0], 18, 1)
    return Truth("version", job.ranks_of(node))


# ---- what happened before is not the cause
@plot(8)
def second_attempt(job):
    """torchrun began anew after a lost connection; what ended it is in the second attempt."""
    rank, t = job.some_rank(), job.end
    for other in range(job.ranks):
        job.say(other, 20, "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.4.0.9]:18231")
    job.launch(21, "INFO:torch.distributed.elastic.agent.server.api:[default] Worker group FAILED. 2/3 attempts left; will restart worker group")
    job.raised(rank, t, oom_text(job))
    follow(job, rank, t)
    return Truth("gpu_memory", [rank])


@plot(16, 64)
def warned_long_before(job):
    """A GPU remapped a row an hour before, and another rank raises."""
    t = job.end
    rank = job.some_rank()
    xid(job, job.random.choice(job.names), 30, 63, "Row Remapper: new row marked for remapping, reset gpu to activate.")
    job.raised(rank, t, "ValueError: expected sequence of length 2048 at dim 1 (got 2047)")
    follow(job, rank, t)
    return Truth("exception", [rank])


# ---- other launchers
@plot(8, layouts=("mixed",))
def deepspeed_one(job):
    rank, t = job.some_rank(), job.end
    job.raised(rank, t, "IndexError: list index out of range")
    for other in range(job.ranks):
        job.launch(t + 1, "[%s,412] [INFO] [launch.py:315:sigkill_handler] Killing subprocess %d" % (job.clock(None, t + 1).strftime("%Y-%m-%d %H:%M:%S"), job.pids[other]))
        job.stop(other, t + 1)
    job.launch(t + 2, "[%s,902] [ERROR] [launch.py:321:sigkill_handler] ['/usr/bin/python3', '-u', 'train.py', '--local_rank=%d', '--deepspeed', 'zero3.json'] exits with return code = 1" % (job.clock(None, t + 2).strftime("%Y-%m-%d %H:%M:%S"), job.ranks - 1))
    return Truth("exception", [rank])


@plot(4, 8, layouts=("mixed",))
def lightning_one(job):
    rank, t = job.some_rank(), job.end
    job.raised(rank, t, oom_text(job))
    job.launch(t + 1, "[rank: %d] Child process with PID %d terminated with code 1. Forcefully terminating all other processes to avoid zombies \U0001f9df" % (rank, job.pids[rank]))
    for other in job.others(rank):
        job.stop(other, t + 1)
    job.launch(t + 1.1, "./train.sh: line 12: %d Killed                  python3 train.py" % job.pids[0])
    return Truth("gpu_memory", [rank])


@plot(4, 8, layouts=("mixed",), torch=("1.13", "2.1"))
def spawn_one(job):
    """torch.multiprocessing.spawn: the parent writes the traceback of the process that failed."""
    rank, t = job.some_rank(), job.end
    for each in range(job.ranks):
        job.stop(each, t)
    job.launch(t + 1, "Traceback (most recent call last):\n  File \"/opt/app/train.py\", line 71, in <module>\n    mp.spawn(main, nprocs=%d)\n  File \"/opt/env/lib/python3.11/site-packages/torch/multiprocessing/spawn.py\", line 160, in join\n    raise ProcessRaisedException(msg, error_index, failed_process.pid)\ntorch.multiprocessing.spawn.ProcessRaisedException: \n\n-- Process %d terminated with the following error:\nTraceback (most recent call last):\n  File \"/opt/env/lib/python3.11/site-packages/torch/multiprocessing/spawn.py\", line 69, in _wrap\n    fn(i, *args)\n  File \"/opt/app/train.py\", line 44, in main\n    train(rank)\nFileNotFoundError: [Errno 2] No such file or directory: '/data/shard-3.bin'" % (job.ranks, rank))
    return Truth("missing_file", [rank])


@plot(4, 8, layouts=("mixed",))
def spawn_killed(job):
    rank, t = job.some_rank(), job.end
    for each in range(job.ranks):
        job.stop(each, t)
    job.launch(t + 1, "Traceback (most recent call last):\n  File \"/opt/app/train.py\", line 71, in <module>\n    mp.spawn(main, nprocs=%d)\ntorch.multiprocessing.spawn.ProcessExitedException: process %d terminated with signal SIGKILL" % (job.ranks, rank))
    return Truth("signal", [rank])


@plot(16, 64, layouts=("srun", "files"), early=True)
def not_launched(job):
    node = job.random.choice(job.names)
    for rank in range(job.ranks):
        job.stop(rank, 3)
    job.launch(4, "srun: error: Task launch for StepId=%d.0 failed on node %s: Communication connection failure\nsrun: error: Application launch failed: Communication connection failure\nsrun: Job step aborted: Waiting up to 32 seconds for job step to finish.\nsrun: error: Timed out waiting for job step to complete" % (job.id, node))
    return Truth("launcher", job.ranks_of(node), [node])


@plot(8, 16, layouts=("srun", "files", "mixed"))
def killed_in_mpirun(job):
    rank, t = job.some_rank(), job.end
    job.stop(rank, t)
    job.launch(t + 1, "-" * 74 + "\nPrimary job  terminated normally, but 1 process returned\na non-zero exit code. Per user-direction, the job has been aborted.\n" + "-" * 74 + "\n" + "-" * 74 +
               "\nmpirun noticed that process rank %d with PID %d on node %s exited on signal 9 (Killed).\n" % (rank, job.pids[rank], job.node(rank)) + "-" * 74)
    for other in job.others(rank):
        job.stop(other, t + 1)
    return Truth("signal", [rank])


@plot(8, 64)
def hung_until_limit(job):
    """The job stands still for hours, and then its time is over: both are true."""
    for rank in range(job.ranks):
        job.log(rank, job.end, "waiting in all_reduce")
    job.slurm_ends(job.end + 7200, " DUE TO TIME LIMIT")
    return Truth({"time_limit", "collective_timeout"}, "any")


@plot(8, 32, layouts=("srun", "mixed"))
def two_failures(job):
    """One rank raises; while the rest goes down, another one has no memory left for its report: the first is the cause."""
    rank, t = job.some_rank(), job.end
    other = (rank + 1) % job.ranks
    job.raised(rank, t, "ValueError: Expected more than 1 value per channel when training, got input size torch.Size([1, 512])")
    job.raised(other, t + 30, "RuntimeError: CUDA error: device-side assert triggered" if job.id % 2 else "MemoryError")
    job.launcher = "srun"
    job.watchdog([r for r in range(job.ranks) if r not in (rank, other)], t + 600)
    job.ended(rank, t + 1, 1, stops=False)
    return Truth("exception", [rank])


# ---- looks bad, and comes to a good end
@plot(8, early=None, layouts=("attempts",))
def good_second_attempt(job):
    """The first attempt of torchrun failed, the second trained to the end."""
    said, job.said, dead = job.said, [], job.dead
    rank = job.some_rank()
    job.attempt, job.dead = 0, {}
    job.raised(rank, 20, oom_text(job))
    job.lost(job.others(rank), 20.5, "gloo")
    job.rest = [(name, "".join(line + "\n" for line in lines)) for name, lines in lines_of(job).items()]
    job.said, job.dead, job.attempt = said, dead, 1
    job.launch(22, "INFO:torch.distributed.elastic.agent.server.api:[default] Worker group FAILED. 3/3 attempts left; will restart worker group")


@plot(8, 64, early=None)
def good_told_to_stop(job):
    """Words of ends in a job that ends well: a signal that asks to save, and the launcher's last words."""
    job.log(0, job.end, "time is almost up: saved checkpoint-%d, stopping after this step" % job.last_step)
    job.launch(job.end + 6, "job done, exit code 0: no error")


def lines_of(job):
    lines = {}
    for _, _, rank, text, _ in job.said:
        if rank >= 0:
            lines.setdefault(job.place(rank)[0], []).append(text)
    return lines
