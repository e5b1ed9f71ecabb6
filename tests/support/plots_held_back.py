"""plots_held_back.py - more ways in which jobs end, of kinds that plots.py does not have: written, with what each comes to, before the
program was asked about any of them. The wording is that of the programs.

HELD_BACK are the first, HELD_BACK_AGAIN those that were kept for what the first ones changed.
"""
from endings import Truth, spell
from plots import PLOTS, follow, plot

KNOWN = len(PLOTS)


# ---- the system under the job
@plot(16, 64)
def oomd(job):
    """systemd's own killer ended a rank, not the kernel's."""
    rank, t = job.some_rank(), job.end
    job.stop(rank, t)
    job.rest.append(("journal-%s.log" % job.node(rank), "%s %s systemd-oomd[812]: Killed /system.slice/slurmstepd.scope/job_%d/step_0/user/task_%d due to memory pressure for /system.slice being 82.13%% > 80.00%% for > 20s with reclaim activity\n"
                     % (job.clock(rank, t).strftime("%b %d %H:%M:%S"), job.node(rank), job.id, rank % job.per_node)))
    follow(job, rank, t, -9)
    return Truth("host_memory", job.ranks_of(job.node(rank)), [job.node(rank)])


@plot(16, 128)
def adapter_sick(job):
    """The network adapter of a node stopped answering its driver."""
    rank, t = job.some_rank(), job.end
    node = job.node(rank)
    job.kernel_says(node, t - 1, "mlx5_core 0000:5e:00.0: poll_health:833:(pid 0): device's health compromised - reached miss count")
    job.kernel_says(node, t - 0.9, "mlx5_core 0000:5e:00.0: print_health_info:423:(pid 0): Health issue observed, firmware internal error, severity(3) ERROR:")
    job.lost([r for r in range(job.ranks) if job.node(r) != node][:24], t + 9, "nccl")
    job.watchdog([r for r in range(job.ranks) if job.node(r) != node][24:], t + 600)
    return Truth({"network", "node_failure"}, job.ranks_of(node), [node])


@plot(32, 64)
def drive_gone(job):
    """The local drive of a node went away, and its ranks could not read the shards on it."""
    rank, t = job.some_rank(), job.end
    node = job.node(rank)
    job.kernel_says(node, t - 2, "nvme nvme1: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10")
    job.kernel_says(node, t - 1.5, "nvme nvme1: Removing after probe failure status: -19")
    job.kernel_says(node, t - 1, "blk_update_request: I/O error, dev nvme1n1, sector 781422768 op 0x0:(READ) flags 0x80700 phys_seg 4 prio class 0")
    for each in job.ranks_of(node):
        job.raised(each, t + job.random.uniform(0, 0.8), "OSError: [Errno 5] Input/output error: '/local/shards/train-%05d.bin'" % each)
    job.lost([r for r in range(job.ranks) if job.node(r) != node], t + 2)
    return Truth("disk", job.ranks_of(node), [node])


# ---- launchers and schedulers
@plot(16, 256)
def pals_crash(job):
    """Cray's launcher says of a rank what became of it, and stops the others."""
    rank, t = job.some_rank(), job.end
    job.launcher = "srun"
    job.stop(rank, t)
    job.launch(t + 0.5, "%s.hsn.cm.cluster: rank %d died from signal 11 and dumped core" % (job.node(rank), rank))
    for other in job.others(rank)[:3]:
        job.launch(t + 1, "%s.hsn.cm.cluster: rank %d died from signal 15" % (job.node(other), other))
    for other in job.others(rank):
        job.stop(other, t + 0.6)
    return Truth("crash", [rank])


@plot(64, early=True)
def credential(job):
    """Munge of one node disagrees: no task of it can begin."""
    node = job.random.choice(job.names[1:])
    job.said = [s for s in job.said if s[2] < 0]
    job.launch(2, "srun: error: Task launch for StepId=%d.0 failed on node %s: Invalid job credential" % (job.id, node))
    job.launch(2.1, "srun: error: Application launch failed: Invalid job credential")
    job.launch(2.2, "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")
    job.launch(9, "srun: error: Timed out waiting for job step to complete")
    return Truth({"launcher", "permission"}, "any")


@plot(8, 32)
def kueue(job):
    """Kueue took the job's quota for another one: events that kubectl wrote."""
    t = job.end
    for rank in range(job.ranks):
        job.stop(rank, t)
    job.rest.append(("events.txt", "LAST SEEN   TYPE     REASON      OBJECT                    MESSAGE\n41m         Normal   Admitted    workload/pytorchjob-llm   Admitted by ClusterQueue team-a, wait time since reservation was 0s\n"
                     "2m          Normal   Preempted   workload/pytorchjob-llm   Preempted to accommodate a workload (UID: 5c02, JobUID: 81be) due to reclamation within the cohort\n"
                     "2m          Normal   Killing     pod/llm-worker-0          Stopping container pytorch\n"))
    return Truth("preempted")


@plot(16)
def sagemaker_limit(job):
    t = job.end
    for rank in range(job.ranks):
        job.stop(rank, t)
    job.launch(t + 1, "2024-05-07 11:02:41 Stopping - Stopping the training job")
    job.launch(t + 2, "2024-05-07 11:03:55 MaxRuntimeExceeded - Training job runtime exceeded MaxRuntimeInSeconds provided")
    return Truth("time_limit")


@plot(8)
def vertex_memory(job):
    rank, t = job.some_rank(), job.end
    job.stop(rank, t)
    job.launch(t + 4, "The replica workerpool1-0 ran out-of-memory and exited with a non-zero status of 137(SIGKILL). To find out more about why your job exited please check the logs.")
    return Truth("host_memory", "any")


@plot(32, 256)
def fault_tolerance(job):
    """A launcher that watches heartbeats of ranks ends one that stands still."""
    rank, t = job.some_rank(), job.end
    job.stop(rank, t)
    job.launch(t + 310, "[WARNING] [RankMonitorServer:%d] Did not get subsequent heartbeat. Waited 300.00 seconds." % (rank % job.per_node), rank // job.per_node)
    job.launch(t + 311, "[ERROR] [RankMonitorServer:%d] Timeout detected: rank %d has no heartbeat, terminating it with SIGKILL" % (rank % job.per_node, rank), rank // job.per_node)
    job.lost(job.others(rank), t + 312)
    return Truth({"collective_timeout", "signal"}, [rank])


# ---- libraries
@plot(8, 64)
def different_collectives(job):
    """Two ranks are at different collectives: checked with TORCH_DISTRIBUTED_DEBUG=DETAIL."""
    rank, t = job.random.randrange(1, job.ranks), job.end
    prints = ("CollectiveFingerPrint(SequenceNumber=3104, OpType=ALLREDUCE, TensorShape=[195812480], TensorDtypes=BFloat16, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda))",
              "CollectiveFingerPrint(SequenceNumber=3104, OpType=BROADCAST, TensorShape=[1], TensorDtypes=Long, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda))")
    for each in job.others(rank):
        job.raised(each, t + job.random.uniform(0, 1), "RuntimeError: Detected mismatch between collectives on ranks. Rank %d is running collective: %s, but Rank %d is running collective: %s.Collectives differ in the following aspects: \t Op type: ALLREDUCEvs BROADCAST" % (each, prints[0], rank, prints[1]))
    job.raised(rank, t + 0.5, "RuntimeError: Detected mismatch between collectives on ranks. Rank %d is running collective: %s, but Rank 0 is running collective: %s.Collectives differ in the following aspects: \t Op type: BROADCASTvs ALLREDUCE" % (rank, prints[1], prints[0]))
    return Truth({"exception", "collective_timeout"}, "any")


@plot(8, 32, early=True)
def saved_by_parts(job):
    """Parts of a checkpoint that the model's settings do not name: all ranks say so, each with what rank 0 met."""
    for rank in range(job.ranks):
        job.raised(rank, 16 + job.random.uniform(0, 1), "torch.distributed.checkpoint.api.CheckpointException: CheckpointException ranks:dict_keys([%s])\nTraceback (most recent call last): (RANK 0)\n  File \"/opt/env/lib/python3.11/site-packages/torch/distributed/checkpoint/utils.py\", line 164, in reduce_scatter\n    local_data = map_fun()\nRuntimeError: Missing key in checkpoint state_dict: model.layers.32.attention.wq.weight."
                   % ", ".join(map(str, range(job.ranks))))
    return Truth("checkpoint_load")


@plot(8, 16, early=True)
def safetensors_cut(job):
    for rank in range(job.ranks):
        job.raised(rank, 16 + job.random.uniform(0, 1), "safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer")
    return Truth({"checkpoint_load", "data"})


@plot(8, 128)
def triton_shared(job):
    for rank in range(job.ranks):
        job.raised(rank, job.end + job.random.uniform(0, 0.9), "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 147456, Hardware limit: 101376. Reducing block sizes or `num_stages` may help.")
    return Truth({"gpu_code", "gpu_memory", "exception"})


@plot(16, 64)
def nccl_sizes(job):
    """A rank gave a collective another size: the transport sees it."""
    rank, t = job.some_rank(), job.end
    job.say(rank, t, "%s:%d:%d [%d] transport/net_socket.cc:493 NCCL WARN NET/Socket : peer %s<41810> message truncated : receiving 1048576 bytes instead of 524288. If you believe your socket network is in healthy state, there may be a mismatch in collective sizes or environment settings (e.g. NCCL_PROTO, NCCL_ALGO) between ranks"
            % (job.node(rank), job.pids[rank], job.pids[rank] + 41, rank % job.per_node, job.names[0]))
    job.raised(rank, t + 0.2, "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:2006, invalid usage (run with NCCL_DEBUG=WARN for details), NCCL version 2.19.3\nncclInvalidUsage: This usually reflects invalid usage of NCCL library.\nLast error:\nNET/Socket : peer %s<41810> message truncated : receiving 1048576 bytes instead of 524288" % job.names[0])
    follow(job, rank, t)
    return Truth({"network", "exception", "gpu_code"}, [rank])


@plot(16, 64, early=True)
def jax_barrier(job):
    late = job.random.randrange(1, job.ranks)
    job.stop(late, 10)
    for rank in job.others(late):
        job.raised(rank, 310 + job.random.uniform(0, 2), "jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: multihost_broadcast_sync0. Timed out task names:\n/job:jax_worker/replica:0/task:%d" % late)
    return Truth({"rendezvous", "collective_timeout", "network"}, [late])


@plot(8, 32)
def ray_memory(job):
    rank, t = job.some_rank(), job.end
    job.stop(rank, t)
    job.launch(t + 0.5, "(raylet) [%s E 1811 1811] (raylet) node_manager.cc:3069: 1 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons at node (ID: b8aad7ac53c083fcae48, IP: 10.0.4.9) over the last time period. To see more information about the Workers killed on this node, use `ray logs raylet.out -ip 10.0.4.9`"
               % job.clock(None, t).strftime("%Y-%m-%d %H:%M:%S,041"))
    job.launch(t + 2, "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.")
    return Truth("host_memory", "any")


@plot(8, 64)
def streaming_cut(job):
    """A shard in a store of objects is shorter than its index says."""
    rank, t = job.some_rank(), job.end
    job.raised(rank, t, "tarfile.ReadError: unexpected end of data @ <Stream=<Pipe (('curl -s -L https://store/shard-000217.tar',), {})>>", chained="EOFError: short read")
    follow(job, rank, t)
    return Truth("data", [rank])


@plot(8, early=True)
def sentencepiece(job):
    for rank in range(job.ranks):
        job.raised(rank, 15 + job.random.uniform(0, 1), "RuntimeError: Internal: src/sentencepiece_processor.cc(1101) [model_proto->ParseFromArray(serialized.data(), serialized.size())] ")
    return Truth({"data", "checkpoint_load"})


@plot(16, 64, early=True)
def same_gpu(job):
    """Two ranks of a node took the same GPU, since nobody set the device."""
    a = job.random.randrange(0, job.ranks - 1) // 2 * 2
    for rank in (a, a + 1):
        job.say(rank, 14, "%s:%d:%d [0] init.cc:871 NCCL WARN Duplicate GPU detected : rank %d and rank %d both on CUDA device 5000" % (job.node(rank), job.pids[rank], job.pids[rank] + 9, rank, a if rank != a else a + 1))
        job.raised(rank, 14.2, "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:1251, invalid usage, NCCL version 2.18.1\nncclInvalidUsage: This usually reflects invalid usage of NCCL library.\nLast error:\nDuplicate GPU detected : rank %d and rank %d both on CUDA device 5000" % (rank, a if rank != a else a + 1))
    job.lost(job.others(a, a + 1), 15, "socket")
    return Truth({"arguments", "gpu_fault", "exception", "gpu_code", "launcher"}, [a, a + 1])


@plot(1024)
def lost_in_a_thousand(job):
    """An own store of a library in words of its own, among a thousand ranks that wait for it."""
    rank, t = job.some_rank(), job.end
    job.say(rank, t, "shardcache[%d]: fatal: segment 0x%x: checksum mismatch after 3 reads, giving up" % (job.pids[rank], 0x91ac0 + rank))
    job.stop(rank, t)
    job.ended(rank, t + 1, 70, also=job.others(rank)[:3], stops=False)
    job.watchdog(job.others(rank), t + 600)
    return Truth("data", [rank])


HELD_BACK = PLOTS[KNOWN:]


# ---- kept for what these change
@plot(32, 64)
def pals_node(job):
    node, t = job.random.choice(job.names[1:]), job.end
    for rank in job.ranks_of(node):
        job.stop(rank, t)
    job.lost([r for r in range(job.ranks) if job.node(r) != node], t + 3)
    job.launch(t + 40, "palsd: %s: shepherd died from signal 9" % node)
    return Truth({"node_failure", "launcher", "signal"}, job.ranks_of(node), [node])


@plot(16)
def capacity(job):
    t = job.end
    for rank in range(job.ranks):
        job.stop(rank, t)
    job.launch(t + 1, "2024-05-07 11:03:55 CapacityError - Unable to provision requested ML compute capacity. Please retry using a different ML instance type.")
    return Truth({"launcher", "preempted", "limits"})


@plot(16, 128)
def lockup(job):
    rank, t = job.some_rank(), job.end
    node = job.node(rank)
    job.kernel_says(node, t, "INFO: task python3:%d blocked for more than 122 seconds." % job.pids[rank])
    job.kernel_says(node, t + 1, "watchdog: BUG: soft lockup - CPU#17 stuck for 23s! [python3:%d]" % job.pids[rank])
    for each in job.ranks_of(node):
        job.stop(each, t)
    job.watchdog([r for r in range(job.ranks) if job.node(r) != node], t + 600)
    return Truth("node_failure", job.ranks_of(node), [node])


@plot(8, 64)
def tokenizers_panic(job):
    rank, t = job.some_rank(), job.end
    job.say(rank, t, "thread '<unnamed>' panicked at tokenizers-lib/src/models/bpe/trainer.rs:517:53:\ncalled `Option::unwrap()` on a `None` value\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace")
    job.raised(rank, t + 0.1, "pyo3_runtime.PanicException: called `Option::unwrap()` on a `None` value")
    follow(job, rank, t)
    return Truth({"crash", "exception", "data"}, [rank])


@plot(16, 64)
def killed_by_slurm(job):
    """Slurm ended the job by a signal of its own."""
    t = job.end
    for rank in range(job.ranks):
        job.stop(rank, t)
    job.launch(t + 1, "slurmstepd: error: *** JOB %d ON %s CANCELLED AT %s DUE to SIGNAL Killed ***" % (job.id, job.names[0], job.clock(None, t).isoformat()[:19]))
    for node in job.names[:4]:
        job.launch(t + 2, "srun: error: %s: tasks %s: Killed" % (node, spell(job.ranks_of(node))))
    return Truth({"signal", "cancelled"})


@plot(512)
def own_fabric(job):
    rank, t = job.some_rank(), job.end
    job.say(rank, t, "E%s ringlib/session.cc:311] session to peer lost: keepalive expired (rail 3), aborting rank" % job.clock(rank, t).strftime("%m%d %H:%M:%S.118201 4711"))
    job.stop(rank, t)
    job.ended(rank, t + 1, 1, also=job.others(rank)[:3])
    job.lost(job.others(rank), t + 1)
    return Truth("network", [rank])


HELD_BACK_AGAIN = PLOTS[KNOWN + len(HELD_BACK):]
del PLOTS[KNOWN:]
