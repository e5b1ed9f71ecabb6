/* allowed.c - the grade of a name in a pickle (docs/loading.md).
 *
 * Modules of Python's own library are code unless they are listed, for most of them lead to os or to eval by some way.
 * So are functions of torch and numpy that are neither listed nor beside classes that are. Names of other packages are their program's: what they do is
 * known to those who installed them. */
#include <ctype.h>
#include <stdlib.h>
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
    {"argparse", "Namespace"},
    {"array", "array _array_reconstructor"},
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
    {"pathlib", "Path PosixPath PurePath PurePosixPath PureWindowsPath WindowsPath"},
    {"pathlib._local", "Path PosixPath PurePath PurePosixPath PureWindowsPath WindowsPath"},
    {"random", "Random"},
    {"types", "SimpleNamespace"},
    {"typing", "Any Callable Dict Generic Iterable List Mapping Optional Sequence Set Tuple Type Union"},
    {"uuid", "UUID SafeUUID"},
    {"numpy", "ndarray dtype bool bool_ bool8 int* uint* float* complex* half single double longdouble clongdouble "
              "csingle cdouble byte ubyte short ushort intc uintc long ulong longlong ulonglong str_ bytes_ void "
              "object_ datetime64 timedelta64"},
    {"numpy.core.multiarray", "_reconstruct scalar"},
    {"numpy._core.multiarray", "_reconstruct scalar"},
    {"numpy.core.numeric", "_frombuffer"},
    {"numpy._core.numeric", "_frombuffer"},
    {"numpy.dtypes", "*DType"},
    {"numpy.ma.core", "_mareconstruct MaskedArray"},
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
              "preserve_format relu relu_ tanh sigmoid SymInt SymFloat SymBool"},
    {"torch._C", "Generator *StorageBase DisableTorchFunctionSubclass"},
    {"torch._C._nn", "gelu elu relu6 leaky_relu softplus silu mish hardtanh hardswish"},
    {"torch._tensor", "Tensor _rebuild_from_type _rebuild_from_type_v2"},
    {"torch._utils", "_rebuild_*"},
    {"torch.amp.grad_scaler", "GradScaler OptState _refresh_per_optimizer_state"},
    {"torch.cuda", "*Storage *Tensor"},
    {"torch.cuda.amp.grad_scaler", "GradScaler OptState _refresh_per_optimizer_state"},
    {"torch.jit._pickle", "*"},
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
    "torch.distributed.distributed_c10d",
    "torch.distributed.fsdp",
    "torch.distributed.tensor",
    "torch.nn.",
    "torch.optim",
    "torch.quantization",
    "torch.storage",
    "torch.utils.data",
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

/* Modules of Python's library, also of Python 2, and packages whose functions run programs or fetch from the net. */
static const char *const CODE[] = {
    "IPython",
    "__builtin__",
    "__future__",
    "_codecs",
    "_ctypes",
    "_frozen_importlib",
    "_functools",
    "_imp",
    "_io",
    "_operator",
    "_pickle",
    "_posixsubprocess",
    "_socket",
    "_sqlite3",
    "_thread",
    "_winapi",
    "_xxsubinterpreters",
    "abc",
    "aifc",
    "aiohttp",
    "antigravity",
    "argparse",
    "array",
    "ast",
    "asynchat",
    "asyncio",
    "asyncore",
    "atexit",
    "audioop",
    "base64",
    "bdb",
    "binascii",
    "bisect",
    "builtins",
    "bz2",
    "cPickle",
    "cProfile",
    "calendar",
    "cgi",
    "cgitb",
    "chunk",
    "cmath",
    "cmd",
    "code",
    "codecs",
    "codeop",
    "collections",
    "colorsys",
    "commands",
    "compileall",
    "concurrent",
    "configparser",
    "contextlib",
    "contextvars",
    "copy",
    "copy_reg",
    "copyreg",
    "crypt",
    "csv",
    "ctypes",
    "curses",
    "dataclasses",
    "datetime",
    "dbm",
    "decimal",
    "difflib",
    "dis",
    "distutils",
    "docker",
    "doctest",
    "email",
    "encodings",
    "ensurepip",
    "enum",
    "errno",
    "exceptions",
    "faulthandler",
    "fcntl",
    "filecmp",
    "fileinput",
    "fnmatch",
    "fractions",
    "ftplib",
    "functools",
    "gc",
    "genericpath",
    "getopt",
    "getpass",
    "gettext",
    "glob",
    "graphlib",
    "grp",
    "gzip",
    "hashlib",
    "heapq",
    "hmac",
    "html",
    "http",
    "httplib",
    "httpx",
    "idlelib",
    "imaplib",
    "imghdr",
    "imp",
    "importlib",
    "inspect",
    "invoke",
    "io",
    "ipaddress",
    "itertools",
    "json",
    "keyword",
    "lib2to3",
    "linecache",
    "locale",
    "logging",
    "lzma",
    "mailbox",
    "mailcap",
    "marshal",
    "math",
    "mimetypes",
    "mmap",
    "modulefinder",
    "msilib",
    "msvcrt",
    "multiprocessing",
    "netrc",
    "nis",
    "nntplib",
    "nt",
    "ntpath",
    "nturl2path",
    "numbers",
    "numexpr",
    "opcode",
    "operator",
    "optparse",
    "os",
    "ossaudiodev",
    "paramiko",
    "pathlib",
    "pdb",
    "pexpect",
    "pickle",
    "pickletools",
    "pip",
    "pipes",
    "pkg_resources",
    "pkgutil",
    "platform",
    "plistlib",
    "plumbum",
    "popen2",
    "poplib",
    "posix",
    "posixpath",
    "pprint",
    "profile",
    "pstats",
    "psutil",
    "pty",
    "ptyprocess",
    "pwd",
    "py_compile",
    "pyclbr",
    "pydoc",
    "pydoc_data",
    "pyexpat",
    "queue",
    "quopri",
    "random",
    "re",
    "readline",
    "reprlib",
    "requests",
    "resource",
    "rlcompleter",
    "runpy",
    "sched",
    "secrets",
    "select",
    "selectors",
    "setuptools",
    "sh",
    "shelve",
    "shlex",
    "shutil",
    "signal",
    "site",
    "smtpd",
    "smtplib",
    "sndhdr",
    "socket",
    "socketserver",
    "spwd",
    "sqlite3",
    "sre_compile",
    "sre_constants",
    "sre_parse",
    "ssl",
    "stat",
    "statistics",
    "string",
    "stringprep",
    "struct",
    "subprocess",
    "sunau",
    "symtable",
    "sys",
    "sysconfig",
    "syslog",
    "tabnanny",
    "tarfile",
    "telnetlib",
    "tempfile",
    "termios",
    "test",
    "textwrap",
    "this",
    "threading",
    "time",
    "timeit",
    "tkinter",
    "token",
    "tokenize",
    "tomllib",
    "trace",
    "traceback",
    "tracemalloc",
    "tty",
    "turtle",
    "turtledemo",
    "types",
    "typing",
    "unicodedata",
    "unittest",
    "urllib",
    "urllib2",
    "urllib3",
    "uu",
    "uuid",
    "venv",
    "warnings",
    "wave",
    "weakref",
    "webbrowser",
    "winreg",
    "winsound",
    "wsgiref",
    "xdrlib",
    "xml",
    "xmlrpc",
    "zipapp",
    "zipfile",
    "zipimport",
    "zlib",
    "zoneinfo",
};

/* Modules of Python's library whose objects keep data and do nothing, and that trainings save: middle, not code. */
static const char *const HARMLESS[] = {"collections.abc", "dataclasses",     "functools.partial",
                                       "ipaddress",       "logging.Logger",  "numbers",
                                       "re._compile",     "string.Template", "zoneinfo"};

/* Ends of names that load or run what is given to them, in packages that are otherwise graded by their classes. */
static const char *const LOADERS[] = {"PackageImporter",
                                      "Popen",
                                      "_eval_repr",
                                      "_import_module",
                                      "call_command",
                                      "check_output",
                                      "download_url_to_file",
                                      "dynamic_subimport",
                                      "eval",
                                      "exec",
                                      "exec_command",
                                      "from_pretrained",
                                      "import_module",
                                      "load",
                                      "load_inline",
                                      "load_library",
                                      "load_module",
                                      "load_state_dict_from_url",
                                      "loads",
                                      "popen",
                                      "read_pickle",
                                      "run_module",
                                      "run_path",
                                      "runstring",
                                      "subimport",
                                      "system",
                                      "urlopen",
                                      "urlretrieve"};

static int compare(const void *key, const void *entry)
{
    return strcmp(key, *(const char *const *)entry);
}

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

/* The first part of a dotted path, looked up among modules that are code. */
static bool is_code_module(const char *path, size_t length)
{
    char top[64];
    if (length == 0 || length >= sizeof top)
        return false;
    memcpy(top, path, length);
    top[length] = '\0';
    return bsearch(top, CODE, sizeof CODE / sizeof *CODE, sizeof *CODE, compare) != NULL;
}

/* Does a dotted name lead on from an object to a module: torch.serialization "os.system"? */
static bool leads_to_code(const char *name)
{
    for (const char *at = name; strchr(at, '.'); at = strchr(at, '.') + 1)
        if (is_code_module(at, strcspn(at, ".")) || strncmp(at, "__", 2) == 0)
            return true;
    return false;
}

static bool is_harmless(const char *module, const char *name)
{
    for (size_t i = 0; i < sizeof HARMLESS / sizeof *HARMLESS; i++) {
        const size_t length = strlen(module);
        if (strncmp(HARMLESS[i], module, length) == 0 &&
            (HARMLESS[i][length] == '\0' ||
             (HARMLESS[i][length] == '.' && strcmp(HARMLESS[i] + length + 1, name) == 0)))
            return true;
    }
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

assay_loading_grade assay_loading_grade_of(const char *module, const char *name)
{
    for (size_t i = 0; i < sizeof ALLOWED / sizeof *ALLOWED; i++)
        if (strcmp(ALLOWED[i].module, module) == 0 && !strchr(name, '.') && has_pattern(ALLOWED[i].names, name))
            return ASSAY_LOADING_DATA;
    if (leads_to_code(name) || is_loader(name))
        return ASSAY_LOADING_CODE;
    const size_t top = strcspn(module, ".");
    const bool own = top == 5 && (strncmp(module, "torch", 5) == 0 || strncmp(module, "numpy", 5) == 0);
    const bool builtin = strcmp(module, "builtins") == 0 || strcmp(module, "exceptions") == 0;
    const size_t length = strlen(name);
    if (builtin && length > 5 && is_class(name) &&
        (strcmp(name + length - 5, "Error") == 0 || strcmp(name, "Exception") == 0))
        return ASSAY_LOADING_DATA;
    if (is_code_module(module, top))
        return is_harmless(module, name) ? ASSAY_LOADING_CLASSES : ASSAY_LOADING_CODE;
    if (strcmp(module, "torch.nn.functional") == 0 && !strchr(name, '.'))
        return ASSAY_LOADING_DATA;
    for (size_t i = 0; i < sizeof CLASSES_OF / sizeof *CLASSES_OF; i++)
        if (is_within(module, CLASSES_OF[i]))
            return is_class(name)           ? ASSAY_LOADING_DATA
                   : own && is_method(name) ? ASSAY_LOADING_CODE
                                            : ASSAY_LOADING_CLASSES;
    return own && !is_class(name) ? ASSAY_LOADING_CODE : ASSAY_LOADING_CLASSES;
}
