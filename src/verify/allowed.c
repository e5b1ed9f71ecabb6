/* allowed.c - the grade of a name in a pickle (docs/loading.md).
 *
 * Modules of Python's own library are code unless they are listed, for most of them lead to os or to eval by some way.
 * So are functions of torch and numpy that are neither listed nor beside classes that are. Names of other packages are their program's: what they do is
 * known to those who installed them. */
#include <ctype.h>
#include <string.h>

#include "verify/loading.h"

/* Modules with the names that stand for data; names are parted by blanks, a star stands for any rest. */
typedef struct listed {
    const char *module, *names;
} listed;

static const listed ALLOWED[] = {
    {"__builtin__", "complex dict float frozenset int list long object range set slice str tuple unicode bool bytes "
                    "bytearray basestring xrange NoneType Ellipsis NotImplemented"},
    {"_codecs", "encode"},
    {"_io", "BytesIO StringIO"},
    {"_operator", "or_"},
    {"argparse", "Namespace"},
    /* The last two are no functions of it: opcodes that are looked for at every byte end in numpy.core.multiarray. */
    {"array", "array _array_reconstructor _reconstruct scalar"},
    {"builtins", "complex dict float frozenset int list object range set slice str tuple bool bytes bytearray NoneType "
                 "Ellipsis NotImplemented"},
    {"collections", "OrderedDict defaultdict Counter deque ChainMap UserDict UserList"},
    {"copy_reg", "_reconstructor __newobj__ __newobj_ex__"},
    {"copyreg", "_reconstructor __newobj__ __newobj_ex__"},
    {"datetime", "datetime date time timedelta timezone"},
    {"decimal", "Decimal"},
    {"deepspeed.utils.tensor_fragment", "fragment_address"},
    {"enum", "Enum IntEnum Flag IntFlag StrEnum"},
    {"fractions", "Fraction"},
    {"io", "BytesIO StringIO"},
    {"operator", "or_"},
    {"pathlib", "Path PosixPath PurePath PurePosixPath PureWindowsPath WindowsPath"},
    {"pathlib._local", "Path PosixPath PurePath PurePosixPath PureWindowsPath WindowsPath"},
    {"random", "Random"},
    {"time", "struct_time"},
    {"types", "SimpleNamespace GenericAlias NoneType EllipsisType NotImplementedType UnionType"},
    {"typing",
     "Any Callable ClassVar DefaultDict Deque Dict Final FrozenSet Generic Iterable Iterator List Literal Mapping "
     "MutableMapping NamedTuple Optional OrderedDict Sequence Set Tuple Type TypeVar TypedDict Union"},
    {"uuid", "UUID SafeUUID"},
    {"numpy", "ndarray dtype bool bool_ bool8 int* uint* float* complex* half single double longdouble clongdouble "
              "csingle cdouble byte ubyte short ushort intc uintc long ulong longlong ulonglong str_ bytes_ void "
              "object_ datetime64 timedelta64 matrix recarray record generic number inexact floating integer "
              "signedinteger unsignedinteger abs absolute add all amax amin any arange arccos arcsin arctan argmax "
              "argmin around ceil clip concatenate cos cosh cumsum divide dot empty equal exp expm1 floor greater "
              "less linspace log log10 log1p log2 logical_and logical_not logical_or max maximum mean median min "
              "minimum mod multiply negative ones power prod reciprocal round sign sin sinh sqrt square stack std "
              "subtract sum tan tanh transpose true_divide var where zeros"},
    {"numpy.core._multiarray_umath", "_reconstruct scalar abs absolute add all amax amin any arange arccos arcsin "
                                     "arctan argmax argmin around ceil clip concatenate cos cosh cumsum divide dot "
                                     "empty equal exp expm1 floor greater less linspace log log10 log1p log2 "
                                     "logical_and logical_not logical_or max maximum mean median min minimum mod "
                                     "multiply negative ones power prod reciprocal round sign sin sinh sqrt square "
                                     "stack std subtract sum tan tanh transpose true_divide var where zeros"},
    {"numpy._core._multiarray_umath", "_reconstruct scalar abs absolute add all amax amin any arange arccos arcsin "
                                      "arctan argmax argmin around ceil clip concatenate cos cosh cumsum divide "
                                      "dot empty equal exp expm1 floor greater less linspace log log10 log1p log2 "
                                      "logical_and logical_not logical_or max maximum mean median min minimum mod "
                                      "multiply negative ones power prod reciprocal round sign sin sinh sqrt "
                                      "square stack std subtract sum tan tanh transpose true_divide var where zeros"},
    {"numpy.core.multiarray", "_reconstruct scalar"},
    {"numpy._core.multiarray", "_reconstruct scalar"},
    {"numpy.core.numeric", "_frombuffer"},
    {"numpy._core.numeric", "_frombuffer"},
    {"numpy.dtypes", "*DType"},
    {"numpy.rec", "recarray record"},
    {"numpy.core.records", "recarray record"},
    {"numpy._core.records", "recarray record"},
    {"numpy.ma.core", "_mareconstruct MaskedArray MaskedConstant"},
    {"numpy.matrixlib.defmatrix", "matrix"},
    {"numpy.random", "RandomState Generator"},
    {"numpy.random._mt19937", "MT19937"},
    {"numpy.random._pcg64", "PCG64 PCG64DXSM"},
    {"numpy.random._philox", "Philox"},
    {"numpy.random._sfc64", "SFC64"},
    {"numpy.random.bit_generator", "SeedSequence __pyx_unpickle_SeedSequence"},
    {"numpy.random._pickle", "__randomstate_ctor __generator_ctor __bit_generator_ctor"},
    {"numpy.random.mtrand", "RandomState"},
    {"torch", "Size Tensor device dtype Generator Stream *Storage *Tensor float* int* uint* bfloat16 bool complex* "
              "double half long short qint* quint* bits* strided sparse_coo sparse_csr sparse_csc sparse_bsr "
              "sparse_bsc _mkldnn jagged per_tensor_affine per_channel_affine per_channel_affine_float_qparams "
              "per_tensor_symmetric per_channel_symmetric contiguous_format channels_last channels_last_3d "
              "preserve_format relu relu_ tanh sigmoid SymInt SymFloat SymBool abs add cat ceil clamp cos div erf "
              "exp floor log log_softmax logsumexp matmul max mean min mul neg prod rsqrt selu sin softmax "
              "softplus sqrt square stack sub sum tan where"},
    {"torch._C", "Generator *StorageBase DisableTorchFunctionSubclass"},
    {"torch._C._nn", "gelu elu relu6 leaky_relu softplus silu mish hardtanh hardswish"},
    {"torch._tensor", "Tensor _rebuild_from_type _rebuild_from_type_v2"},
    {"torch._utils", "_rebuild_*"},
    {"torch.amp.grad_scaler", "GradScaler OptState _refresh_per_optimizer_state"},
    {"torch.cuda", "*Storage *Tensor"},
    {"torch.cuda.amp.grad_scaler", "GradScaler OptState _refresh_per_optimizer_state"},
    {"torch.jit._pickle", "build_* restore_type_tag"},
    {"torch.distributed.distributed_c10d", "Backend BackendConfig P2POp ProcessGroup RedOpType ReduceOp"},
    {"torch.nested._internal.nested_tensor", "NestedTensor _rebuild_njt _tensor_symint_registry"},
    {"torch.random", "Generator"},
    {"torch.serialization", "_get_layout"},
    {"torch.sparse", "*Storage *Tensor"},
    {"torch.storage", "*Storage _load_from_bytes"},
    {"torch.torch_version", "TorchVersion"},
    {"torch.utils._device", "DeviceContext"},
    {"torch.version", "__version__"},
};

/* Packages of the frameworks whose plain classes are data: what they save of settings and of the run. */
static const char *const CLASSES_OF[] = {
    "__torch__",
    "accelerate.parallelism_config",
    "accelerate.state",
    "accelerate.utils.dataclasses",
    "bitsandbytes.",
    "deepspeed.runtime.",
    "deepspeed.utils.tensor_fragment",
    "lightning.fabric.utilities",
    "lightning.pytorch.callbacks",
    "lightning.pytorch.utilities",
    "lightning_fabric.utilities",
    "megatron.core.",
    "megatron.enums",
    "megatron.model.enums",
    "megatron.training.",
    "pytorch_lightning.callbacks",
    "pytorch_lightning.utilities",
    "torch._dynamo.eval_frame",
    "torch._tensor",
    "torch.ao.nn.",
    "torch.ao.quantization",
    "torch.distributed._composable",
    "torch.distributed._shard",
    "torch.distributed._tensor",
    "torch.distributed.checkpoint",
    "torch.distributed.device_mesh",
    "torch.distributed.fsdp",
    "torch.distributed.tensor",
    "torch.nn.",
    "torch.optim",
    "torch.quantization",
    "torch.storage",
    "torch.utils.data._utils.",
    "torch.utils.data.dataloader",
    "torch.utils.data.dataset",
    "torch.utils.data.distributed",
    "torch.utils.data.sampler",
    "torchao.",
    "torchvision.models",
    "torchvision.ops",
    "transformers.configuration_utils",
    "transformers.debug_utils",
    "transformers.generation.configuration_utils",
    "transformers.integrations",
    "transformers.modeling_outputs",
    "transformers.models.",
    "transformers.tokenization_utils",
    "transformers.trainer_pt_utils",
    "transformers.trainer_utils",
    "transformers.training_args",
    "transformers.training_args_seq2seq",
    "transformers.utils.generic",
    "trl.trainer",
};

#define HARMLESS_BUILTINS                                                                                              \
    "abs all any bin callable chr divmod enumerate hash id isinstance issubclass iter len max min next ord pow repr "  \
    "reversed round sorted sum zip"
#define HARMLESS_OPERATORS                                                                                             \
    "abs add and_ contains eq floordiv ge gt is_ is_not itemgetter le lt matmul mod mul ne neg not_ pow sub truediv "  \
    "truth xor"

/* Names of Python's library that keep data, or compute what nobody misuses, and that trainings save: middle, not code. */
static const listed HARMLESS[] = {
    {"__builtin__", HARMLESS_BUILTINS},
    {"_operator", HARMLESS_OPERATORS},
    {"builtins", HARMLESS_BUILTINS},
    {"collections.abc", "*"},
    {"copy", "copy deepcopy"},
    {"dataclasses", "*"},
    {"functools", "partial"},
    {"inspect", "Signature Parameter _ParameterKind _empty"},
    {"ipaddress", "*"},
    {"itertools", "chain count cycle islice product repeat zip_longest"},
    {"logging", "Logger getLogger _nameToLevel"},
    {"math", "*"},
    {"numbers", "*"},
    {"operator", HARMLESS_OPERATORS},
    {"re", "_compile RegexFlag"},
    {"string", "Template"},
    {"types", "MappingProxyType"},
    {"zoneinfo", "*"},
};

/* Ends of names that load or run what is given to them, in packages that are otherwise graded by their classes. */
static const char *const LOADERS[] = {
    "FileStore",
    "PackageImporter",
    "Popen",
    "PyTorchFileWriter",
    "TCPStore",
    "__import__",
    "_eval_repr",
    "_import_module",
    "_locate",
    "call_command",
    "check_call",
    "check_output",
    "download_url_to_file",
    "dynamic_subimport",
    "eval",
    "exec",
    "exec_",
    "exec_command",
    "exec_function",
    "execfile",
    "from_pretrained",
    "full_load",
    "get_class_from_dynamic_module",
    "getoutput",
    "getstatusoutput",
    "hf_hub_download",
    "import_module",
    "import_string",
    "instantiate_class",
    "load",
    "load_inline",
    "load_learner",
    "load_library",
    "load_model",
    "load_module",
    "load_state_dict_from_url",
    "loads",
    "parse_expr",
    "popen",
    "read_pickle",
    "run_in_subinterp",
    "run_module",
    "run_path",
    "runstring",
    "snapshot_download",
    "startfile",
    "subimport",
    "sympify",
    "system",
    "unsafe_load",
    "urlopen",
    "urlretrieve",
};

/* Functions of other packages that say by their names that they do what they are given, where they are called: no pickler
 * writes such calls. */
static const char RUNNERS[] =
    "call compile decode download* *_download eval* exec* Fire getattr import_* input instantiate* "
    "launch* load_* *_load *_loads main open parse_expr* pipeline Process run run_* setattr "
    "spawn* Template";

/* Modules of Python that other packages have under their own names: six.moves.builtins, gevent.subprocess. */
static const char *const COPIED[] = {"__builtin__", "builtins", "commands", "ctypes", "importlib", "nt",
                                     "os",          "posix",    "pty",      "runpy",  "subprocess"};

static bool has_pattern(const char *names, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = names; *at;) {
        const char *end = strchr(at, ' ');
        const size_t size = end ? (size_t)(end - at) : strlen(at);
        const bool first = at[0] == '*', last = at[size - 1] == '*';
        if (first && last && size == 1)
            return true;
        if (first && length >= size - 1 && strncmp(name + length - (size - 1), at + 1, size - 1) == 0)
            return true;
        if (!first && last && strncmp(name, at, size - 1) == 0)
            return true;
        if (!first && !last && size == length && strncmp(name, at, size) == 0)
            return true;
        at += size + (end != NULL);
    }
    return false;
}

/* A class by its name: underscores, then a capital letter; no part of another object. */
static bool is_class(const char *name)
{
    while (*name == '_')
        name++;
    return isupper((unsigned char)*name) && !strchr(name, '.');
}

/* A function of a class, "GuardBuilder.get": no pickler writes those of torch and numpy. */
static bool is_method(const char *name)
{
    const char *point = strrchr(name, '.');
    return point && !is_class(point + 1);
}

static bool is_within(const char *module, const char *package)
{
    const size_t length = strlen(package);
    if (strncmp(module, package, length) != 0)
        return false;
    return package[length - 1] == '.' || module[length] == '\0' || module[length] == '.';
}

/* Does a dotted name lead on from an object to a module, torch.serialization "os.system", or to what an object is made of,
 * "Module.__init__.__globals__"? */
static bool leads_to_code(const char *name)
{
    for (const char *at = name; at; at = strchr(at, '.') ? strchr(at, '.') + 1 : NULL) {
        const size_t length = strcspn(at, ".");
        if ((at[length] == '.' && assay_loading_is_code_module(at, length)) ||
            (length > 4 && strncmp(at, "__", 2) == 0 && strncmp(at + length - 2, "__", 2) == 0))
            return true;
    }
    return false;
}

static bool is_harmless(const char *module, const char *name)
{
    for (size_t i = 0; i < sizeof HARMLESS / sizeof *HARMLESS; i++)
        if (strcmp(module, HARMLESS[i].module) == 0 && has_pattern(HARMLESS[i].names, name))
            return true;
    return false;
}

static bool is_loader(const char *name)
{
    const char *point = strrchr(name, '.'), *last = point ? point + 1 : name;
    for (size_t i = 0; i < sizeof LOADERS / sizeof *LOADERS; i++)
        if (strcmp(last, LOADERS[i]) == 0)
            return true;
    return false;
}

bool assay_loading_leads_to_code(const char *name)
{
    return leads_to_code(name) || is_loader(name);
}

static bool is_exception(const char *module, const char *name)
{
    static const char names[] =
        "*Error *Exception *Warning *Exit *Interrupt *Iteration ExceptionGroup BaseExceptionGroup Warning";
    return (strcmp(module, "builtins") == 0 || strcmp(module, "exceptions") == 0) && is_class(name) &&
           has_pattern(names, name);
}

/* Has a package a module of Python's under a name of its own, and is that name of it code? */
static bool is_copy_of_code(const char *module, const char *name)
{
    for (const char *at = strchr(module, '.'); at; at = strchr(at, '.')) {
        const size_t length = strcspn(++at, ".");
        for (size_t i = 0; i < sizeof COPIED / sizeof *COPIED; i++)
            if (strlen(COPIED[i]) == length && strncmp(at, COPIED[i], length) == 0 &&
                assay_loading_grade_of(at, name, false) == ASSAY_LOADING_CODE)
                return true;
    }
    return false;
}

/* Of a package's own names, which are beside classes that stand for data or not. Functions of torch that read, write or
 * connect lie in packages of which no pickler calls one. */
static assay_loading_grade grade_of_package(const char *module, const char *name, bool own, bool called)
{
    bool beside = strcmp(module, "torch.nn.functional") == 0;
    if (beside && !called && !strchr(name, '.')) /* modules keep them as activations */
        return ASSAY_LOADING_DATA;
    for (size_t i = 0; i < sizeof CLASSES_OF / sizeof *CLASSES_OF && !beside; i++)
        beside = is_within(module, CLASSES_OF[i]);
    if (is_class(name))
        return beside ? ASSAY_LOADING_DATA : ASSAY_LOADING_CLASSES;
    const bool working = called && (is_within(module, "torch.distributed") || is_within(module, "torch.utils"));
    return own && (working || !beside || is_method(name)) ? ASSAY_LOADING_CODE : ASSAY_LOADING_CLASSES;
}

assay_loading_grade assay_loading_grade_of(const char *module, const char *name, bool called)
{
    const size_t top = strcspn(module, ".");
    const bool own = top == 5 && (strncmp(module, "torch", 5) == 0 || strncmp(module, "numpy", 5) == 0);
    if (own && strncmp(name, "torch.", 6) == 0) /* from any module of torch back to it */
        return assay_loading_grade_of("torch", name + 6, called);
    for (size_t i = 0; i < sizeof ALLOWED / sizeof *ALLOWED; i++)
        if (strcmp(ALLOWED[i].module, module) == 0 && !strchr(name, '.') && has_pattern(ALLOWED[i].names, name))
            return ASSAY_LOADING_DATA;
    if (is_exception(module, name))
        return ASSAY_LOADING_DATA;
    if (leads_to_code(name) || is_loader(name) || is_copy_of_code(module, name))
        return ASSAY_LOADING_CODE;
    if (assay_loading_is_code_module(module, top))
        return is_harmless(module, name) ? ASSAY_LOADING_CLASSES : ASSAY_LOADING_CODE;
    const char *point = strrchr(name, '.');
    if (!own && called && has_pattern(RUNNERS, point ? point + 1 : name))
        return ASSAY_LOADING_CODE;
    return grade_of_package(module, name, own, called);
}
