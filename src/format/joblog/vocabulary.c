/* vocabulary.c - what kind of ending the words of an error speak of, whoever wrote it: the words that systems, libraries and
 * launchers have in common. What is read so is a guess, and stands behind every signature.
 *
 * The words are those of strerror(), of signals and exit codes, of the status codes of CUDA, HIP, gRPC and abseil, and of what
 * schedulers and file systems call their limits. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "format/joblog/joblog.h"

enum { GROUPS = 3, LOOKED_AT = 1000 };

/* All groups have to be there: of each one of its words, which are parted by '|'. Words are small letters; one that begins with
 * '=' stands by itself. */
typedef struct entry {
    assay_ending ending;
    assay_log_role role;
    const char *group[GROUPS];
} entry;

#define DEVICE                                                                                                          \
    "gpu|cuda|hip error|hiperror|rocm|hsa_|amdgpu|nvidia|nvml|neuroncore|neuron driver|neuron runtime|nrt_|nrt:|nrt::|" \
    "=npu|aicore|aicpu|=hpu|synapse|synstatus|synnode|=tpu|tensorcore|accelerator device|=xpu|level_zero|"              \
    "ze_result|device memory|=hbm"
#define COLLECTIVE                                                                                                     \
    "collective|allreduce|all_reduce|all-reduce|allgather|all_gather|all-gather|reduce_scatter|reducescatter|"         \
    "broadcast|alltoall|all_to_all|nccl|rccl|hccl|xccl|gloo"
#define HTTP "http|status|response|client error|server error|url"
#define WAITED                                                                                                         \
    "timed out|timeout|times out|time out|deadline|stuck|=hang|=hangs|=hung|did not respond|not responding|heartbeat"
#define WRONG                                                                                                          \
    "error|fail|fault|unable|cannot|can't|could not|couldn't|invalid|illegal|abort|exception|corrupt|missing|mismatch"

/* What says more stands first. */
static const entry ENTRIES[] = {
    {ASSAY_ENDING_shared_memory,
     ASSAY_LOG_CAUSE,
     {"/dev/shm|shared memory|shm_open|shmget", "no space|too small|bus error|insufficient|unable|failed|cannot|full"}},
    {ASSAY_ENDING_gpu_memory,
     ASSAY_LOG_CAUSE,
     {"out of memory|out_of_memory|allocation fail|failed to alloc|alloc failed|alloc_failed|"
      "insufficient memory|not enough memory|resource_exhausted|resource exhausted|no memory",
      DEVICE}},
    {ASSAY_ENDING_gpu_memory, ASSAY_LOG_CAUSE, {"device memory", WRONG "|exhausted|gone|used up"}},
    {ASSAY_ENDING_disk,
     ASSAY_LOG_CAUSE,
     {"no space left|disk full|disk is full|enospc|quota exceeded|quotaexceeded|disk quota|"
      "edquot|over quota|read-only file system|erofs|input/output error|stale file handle|"
      "stale nfs|remote i/o|i/o error|structure needs cleaning|database is locked|"
      "transport endpoint"}},
    {ASSAY_ENDING_disk, ASSAY_LOG_CAUSE, {"quota", "exceed|limit|used up|full"}},
    {ASSAY_ENDING_host_memory,
     ASSAY_LOG_EITHER,
     {"out of memory|out-of-memory|=oom|oomkill|oom-kill|oom_kill|cannot allocate memory|"
      "enomem|memoryerror|outofmemory|bad_alloc|bad alloc|memory limit|exceeded memory|"
      "insufficient memory|not enough memory"}},
    {ASSAY_ENDING_limits,
     ASSAY_LOG_CAUSE,
     {"too many open files|emfile|enfile|too many processes|can't start new thread|cannot fork|"
      "fork failed|fork: retry|resource temporarily unavailable|pids limit|locked memory|"
      "memlock|no locks available"}},
    {ASSAY_ENDING_port,
     ASSAY_LOG_CAUSE,
     {"address already in use|eaddrinuse|port is already|port already|failed to bind|"
      "bind failed|cannot bind|unable to bind"}},
    {ASSAY_ENDING_nan_stop,
     ASSAY_LOG_CAUSE,
     {"=nan|=nans|=inf|non-finite|not finite|nonfinite|infinite", "loss|grad|norm|activation|weight"}},
    {ASSAY_ENDING_time_limit,
     ASSAY_LOG_CAUSE,
     {"time limit|timelimit|walltime|wall time|wallclock|wall clock|run limit|runlimit|"
      "max runtime|max_runtime|maxruntime|maximum runtime|execution time",
      "exceed|reached|expired|=over|limit|=hit"}},
    {ASSAY_ENDING_preempted,
     ASSAY_LOG_CAUSE,
     {"preempted|preemption|spot interruption|interruption notice|evicted|instance reclaim|"
      "reclaimed"}},
    {ASSAY_ENDING_cancelled, ASSAY_LOG_CAUSE, {"cancelled by|canceled by|revoked"}},
    {ASSAY_ENDING_node_failure,
     ASSAY_LOG_EITHER,
     {"node fail|host is down|node is down|node down|node unreachable|lost node|"
      "lost contact with|machine check|kernel panic|node is not ready|host maintenance|"
      "hardware failure"}},
    {ASSAY_ENDING_permission,
     ASSAY_LOG_CAUSE,
     {"permission denied|permission_denied|eacces|operation not permitted|eperm|access denied|"
      "accessdenied|access is denied|unauthorized|unauthenticated|not authorized|forbidden|"
      "authentication|invalid token|token expired|invalid api key|api key|gated repo|"
      "403 client|401 client"}},
    {ASSAY_ENDING_permission, ASSAY_LOG_CAUSE, {HTTP, "=401|=403"}},
    {ASSAY_ENDING_permission,
     ASSAY_LOG_CAUSE,
     {"credential|license|licence|certificate|keytab|kerberos",
      "expired|invalid|denied|fail|refused|not found|missing|no valid|unable|could not|checkout"}},
    {ASSAY_ENDING_import,
     ASSAY_LOG_CAUSE,
     {"no module named|cannot import|shared object|cannot find module|package not found|"
      "no matching distribution|unable to locate a modulefile|modulefile|=lmod"}},
    {ASSAY_ENDING_version,
     ASSAY_LOG_CAUSE,
     {"incompatible|version mismatch|unsupported version|wrong version|is too old|too new|"
      "not compatible|undefined symbol|compute capability|requires python|requires version"}},
    {ASSAY_ENDING_missing_file, ASSAY_LOG_CAUSE, {"no such file or directory|filenotfound"}},
    {ASSAY_ENDING_device_assert, ASSAY_LOG_EITHER, {"device-side assert|device side assert"}},
    {ASSAY_ENDING_collective_timeout, ASSAY_LOG_CONSEQUENCE, {COLLECTIVE, WAITED}},
    {ASSAY_ENDING_rendezvous,
     ASSAY_LOG_EITHER,
     {"rendezvous|registration|barrier|coordinator|coordination service|init_process_group|"
      "connectfullmesh|process group|master node|initialization",
      WAITED "|fail"}},
    {ASSAY_ENDING_gpu_fault,
     ASSAY_LOG_EITHER,
     {DEVICE "|nvlink|nvswitch|fabric manager",
      "ecc|uncorrectable|uncorrected|fell off|fallen off|is lost|was lost|hardware|halted|"
      "unhealthy|not found|no device|not detected|acquire|driver|reset|hung|not responding|xid"}},
    {ASSAY_ENDING_gpu_fault, ASSAY_LOG_EITHER, {"nvlink|nvswitch|fabric manager|multicast memory", WRONG}},
    {ASSAY_ENDING_gpu_code, ASSAY_LOG_EITHER, {DEVICE, WRONG}},
    {ASSAY_ENDING_gpu_code, ASSAY_LOG_EITHER, {"kernel", "launch", WRONG}},
    {ASSAY_ENDING_network,
     ASSAY_LOG_CONSEQUENCE,
     {"connection reset|econnreset|connection closed|closed by peer|closed the connection|"
      "connection aborted|econnaborted|connection abort|broken pipe|epipe|lost connection|"
      "connection lost|socket closed|remote process|end of file on connection|peer closed"}},
    {ASSAY_ENDING_signal, /* a watcher ends what stands still */
     ASSAY_LOG_EITHER,
     {"heartbeat|progress|hung|stuck|stalled|=hang", "sigkill|sigabrt|terminating|killing"}},
    {ASSAY_ENDING_network,
     ASSAY_LOG_EITHER,
     {"no heartbeat|lack of heartbeat|missed heartbeat|heartbeat timeout|connection refused|"
      "econnrefused|connection timed out|etimedout|no route to host|ehostunreach|"
      "network is unreachable|enetunreach|unreachable|unknown host|host not found|"
      "name resolution|name or service|getaddrinfo|=dns|unavailable|deadline exceeded|"
      "deadline_exceeded|service unavailable|bad gateway|gateway timeout|too many requests|"
      "internal server error|ssl error|=tls|handshake|max retries exceeded|connect timeout|"
      "read timed out|could not connect|unable to connect|failed to connect|can't connect|"
      "cannot connect"}},
    {ASSAY_ENDING_network, ASSAY_LOG_EITHER, {HTTP, "=429|=500|=502|=503|=504"}},
    {ASSAY_ENDING_network,
     ASSAY_LOG_EITHER,
     {"socket|connect|infiniband|mlx5|ibv_|rdma|=efa|libfabric|=ofi|ucx|=ucp|=rpc|rpcclient|"
      "grpc|tcp|endpoint|network|netregmr|remote|peer|" COLLECTIVE,
      WRONG "|" WAITED "|lost|closed|refused|reset|broke|gone"}},
    {ASSAY_ENDING_network, ASSAY_LOG_EITHER, {"timed out"}},
    {ASSAY_ENDING_data,
     ASSAY_LOG_CAUSE,
     {"corrupt|truncated|checksum|=crc|malformed|unexpected end of|decode error|decoding|utf-8|"
      "data_loss|bad magic|parse error|parsing error|not in gzip|invalid header"}},
    {ASSAY_ENDING_checkpoint_load,
     ASSAY_LOG_CAUSE,
     {"checkpoint|state_dict|state dict|safetensors|ckpt", WRONG "|incompatible|not found",
      "load|restor|resum|read|shape|missing|unexpected|mismatch"}},
    {ASSAY_ENDING_missing_file,
     ASSAY_LOG_CAUSE,
     {"no such file|enoent|file not found|directory not found|does not exist|doesn't exist|"
      "no such bucket|nosuchkey|not_found:|command not found|cannot open|can't open|"
      "could not open|unable to open|cannot find|can't find|could not find|couldn't find|"
      "cannot access"}},
    {ASSAY_ENDING_arguments,
     ASSAY_LOG_CAUSE,
     {"unrecognized|unrecognised|unknown option|unknown argument|unknown flag|invalid option|"
      "invalid argument|missing operand|missing argument|missing required|bad option|"
      "invalid value|required argument|unexpected argument|invalid choice|illegal option|"
      "usage:|invalid config|configuration error|unknown key|must be a|must be one of|"
      "expected one of"}},
    {ASSAY_ENDING_crash,
     ASSAY_LOG_CAUSE,
     {"segmentation fault|segfault|sigsegv|sigbus|bus error|sigill|illegal instruction|sigfpe|"
      "floating point exception|access violation|stack overflow"}},
    {ASSAY_ENDING_crash,
     ASSAY_LOG_EITHER,
     {"sigabrt|core dumped|abort()|aborted|assertion failed|check failed|panicked|fatal signal|"
      "double free|heap corruption|terminate called|process received signal"}},
    {ASSAY_ENDING_worker_killed,
     ASSAY_LOG_EITHER,
     {"worker|actor|subprocess|child process|dataloader|data loader",
      "died|killed|exited unexpectedly|terminated unexpectedly|crashed|has died|dead"}},
    {ASSAY_ENDING_signal, ASSAY_LOG_EITHER, {"sigkill|signal: killed|was killed|been killed|=killed"}},
    {ASSAY_ENDING_signal, ASSAY_LOG_CONSEQUENCE, {"sigterm|sigint|sighup|termination signal|=terminated|=interrupted"}},
    {ASSAY_ENDING_data,
     ASSAY_LOG_CAUSE,
     {"dataset|tokenizer|data shard|tfrecord|webdataset|parquet|arrow|jsonl", WRONG}},
    {ASSAY_ENDING_launcher,
     ASSAY_LOG_EITHER,
     {"srun|sbatch|salloc|slurm|spank|pyxis|enroot|singularity|apptainer|docker|podman|"
      "container|=image|munge|mpirun|mpiexec|orted|prted|pmix|pmi2|qsub|bsub|=flux|launch|"
      "allocation|job script|prolog|ssh",
      WRONG "|refused|expired|non-zero|nonzero|not available|rejected|exited with|unspecified"}},
};

static bool is_word_byte(char c)
{
    return assay_is_digit(c) || (c >= 'a' && c <= 'z') || c == '_';
}

/* Does one of the words lie in the text? */
static bool has_one(const char *text, size_t length, const char *words)
{
    for (const char *at = words; *at; at += strcspn(at, "|"), at += *at == '|') {
        char word[48];
        const bool alone = *at == '=';
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at + alone, "|"), at + alone);
        const size_t size = strlen(word);
        for (const char *from = text, *found; (found = joblog_find(from, length - (size_t)(from - text), word)) != NULL;
             from = found + 1) {
            const size_t end = (size_t)(found - text) + size;
            /* "code 13" is not in "code 139", nor "oom" in "room" */
            if ((!alone || found == text || !is_word_byte(found[-1])) &&
                (!(alone || assay_is_digit(word[size - 1])) || end >= length || !is_word_byte(text[end])))
                return true;
        }
    }
    return false;
}

size_t joblog_lower(const char *text, size_t length, char *to, size_t room)
{
    size_t put = 0;
    for (; put < length && put < room; put++)
        to[put] = text[put] >= 'A' && text[put] <= 'Z' ? (char)(text[put] | 0x20) : text[put];
    return put;
}

bool joblog_ending_of_code(int64_t code, assay_ending *ending, assay_log_role *role)
{
    static const struct {
        int8_t signal;
        assay_ending ending;
        assay_log_role role;
    } KINDS[] = {
        {SIGILL, ASSAY_ENDING_crash, ASSAY_LOG_CAUSE},        {SIGBUS, ASSAY_ENDING_crash, ASSAY_LOG_CAUSE},
        {SIGFPE, ASSAY_ENDING_crash, ASSAY_LOG_CAUSE},        {SIGSEGV, ASSAY_ENDING_crash, ASSAY_LOG_CAUSE},
        {SIGABRT, ASSAY_ENDING_crash, ASSAY_LOG_EITHER},      {SIGKILL, ASSAY_ENDING_signal, ASSAY_LOG_EITHER},
        {SIGHUP, ASSAY_ENDING_signal, ASSAY_LOG_CONSEQUENCE}, {SIGINT, ASSAY_ENDING_signal, ASSAY_LOG_CONSEQUENCE},
        {SIGTERM, ASSAY_ENDING_signal, ASSAY_LOG_CONSEQUENCE}};
    const int64_t number = code < 0 ? -code : code - 128;
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (KINDS[i].signal == number) {
            *ending = KINDS[i].ending;
            *role = KINDS[i].role;
            return true;
        }
    return false;
}

/* Does a text name an exit code, "exit code: 134", "exitcode -9", or a signal, "signal 11", that says how a process ended? */
static bool has_code(const char *low, size_t length, assay_ending *ending, assay_log_role *role)
{
    static const char *const words[] = {"code", "signal"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (const char *at = low; (at = joblog_find(at, length - (size_t)(at - low), words[i])) != NULL; at++) {
            size_t from = (size_t)(at - low) + strlen(words[i]), digits = 0;
            while (from < length && low[from] && strchr(" :=(", low[from]))
                from++;
            const bool minus = from < length && low[from] == '-';
            int64_t value = 0;
            for (from += minus; from < length && digits < 3 && assay_is_digit(low[from]); from++, digits++)
                value = 10 * value + (low[from] - '0');
            const int64_t code = minus || i == 1 ? -value : value;
            if (digits > 0 && (from >= length || !is_word_byte(low[from])) && joblog_ending_of_code(code, ending, role))
                return true;
        }
    return false;
}

bool joblog_guess(const char *text, size_t length, assay_ending *ending, assay_log_role *role)
{
    char low[LOOKED_AT];
    const size_t size = joblog_lower(text, length, low, sizeof low);
    assay_ending coded = ASSAY_ENDING_noise;
    assay_log_role coded_role = ASSAY_LOG_NOISE;
    const bool code = has_code(low, size, &coded, &coded_role);
    for (size_t i = 0; i < sizeof ENTRIES / sizeof *ENTRIES; i++) {
        bool all = true;
        if (code && ENTRIES[i].ending == coded && ENTRIES[i].role == coded_role && !ENTRIES[i].group[1]) {
            *ending = coded;
            *role = coded_role;
            return true;
        }
        for (size_t g = 0; g < GROUPS && ENTRIES[i].group[g] && all; g++)
            all = has_one(low, size, ENTRIES[i].group[g]);
        if (all) {
            *ending = ENTRIES[i].ending;
            *role = ENTRIES[i].role;
            return true;
        }
    }
    return false;
}

/* ---- does a line speak of an error? ---- */

/* Words that texts of other kinds hardly have. */
static const char LOUD[] =
    "sigsegv|sigbus|sigill|sigfpe|sigabrt|sigkill|sigterm|segmentation fault|segfault|core dumped|exit code|exitcode|"
    "non-zero|command not found|no such file|died from signal|out of memory|failed:|failed to";
/* Words that count only behind the name of a program: "sleep: missing operand". */
static const char LOUD_OF_PROGRAM[] =
    "failed|failure|killed|crashed|unable to|cannot|could not|couldn't|can't|unrecognized|unrecognised|denied|died|"
    "missing|is lost|lost |has been lost|refused|timed out|no such|lack of|no heartbeat|exited with|exited on|exited unexpectedly|terminated|stopping|"
    "=aborted|=aborting|=panicked";
static const char QUIET[] =
    "no error|0 error|without error|error rate|error_rate|squared error|absolute error|error:0|error: 0|errors: 0|errors=0|"
    "0 failed|failed: 0|failed=0|no failure|0 failures|retry|trying again|ignor|skip|dropped|warning|warn |deprecat|"
    "not an error|exit code 0|exit code: 0|exitcode: 0|exit code is 0|exited with code 0|fall back|falling back|if you|"
    "is not set|can be |: []|killed 0|lost 0|unable to register cu|: none|=passed|=xfail|... ok|handler for|handlers for|handler:|trap ";
/* What is named by a noun for an error, where it is no label: "an error occurred", "error in step 7". */
static const char *const BEHIND[] = {"in ", "at ", "while ", "during ", "when ", "on ", "from ", "occurred", "code"};
static const char *const BEFORE[] = {"fatal ", "internal ", "runtime ", "unhandled ", "uncaught ", "unexpected "};

/* Does one of a list of texts begin there, or end there? */
static bool is_one_of(const char *const *list, size_t count, const char *text, size_t length, bool at_end)
{
    bool is = false;
    for (size_t i = 0; i < count && !is; i++) {
        const size_t size = strlen(list[i]);
        is = size <= length && memcmp(at_end ? text + length - size : text, list[i], size) == 0;
    }
    return is;
}

static bool is_large(char c)
{
    return c >= 'A' && c <= 'Z';
}

/* Does the noun at [from, to) of a text say that something failed? It is a label ("error: ..."), begins the text, is written large,
 * or stands behind the name of a library ("HCCL error 7") or among words that say so. It is none in a name ("on_error", "--abort-on-nan"),
 * a heading ("name error time") or where several are counted ("errors by class"). `low` is the text in small letters. */
static bool is_said(const char *text, const char *low, size_t length, size_t from, size_t to)
{
    if (is_large(text[from]) && is_large(text[from + 1]))
        return true;
    size_t begin = from;
    while (begin > 0 && (assay_is_digit(low[begin - 1]) || (low[begin - 1] >= 'a' && low[begin - 1] <= 'z')))
        begin--;
    const char before = begin > 0 ? low[begin - 1] : ' ', behind = to < length ? low[to] : ' ';
    if (begin < from && is_large(text[from]) && !is_large(text[from - 1]) &&
        (before == '.' || (to < length && is_large(text[to])))) /* "acme.GridError", "hipErrorLaunch" */
        return true;
    if (strchr("_-/", before) || strchr("_-/", behind) || (behind >= 'a' && behind <= 'z'))
        return false;
    assay_ending ending;
    assay_log_role role;
    if (to == length || (behind == '.' && to + 1 == length)) /* "no answer: GPU driver error" */
        return begin == 0 || joblog_guess(text, length, &ending, &role);
    return begin == 0 || strchr(":!([", behind) ||
           (begin > 3 && before == ' ' && is_large(text[begin - 2]) && is_large(text[begin - 3]) &&
            is_large(text[begin - 4])) ||
           (to < length && is_one_of(BEHIND, sizeof BEHIND / sizeof *BEHIND, low + to + 1, length - to - 1, false)) ||
           is_one_of(BEFORE, sizeof BEFORE / sizeof *BEFORE, low, begin, true);
}

static bool names_error(const char *text, const char *low, size_t length)
{
    static const char *const nouns[] = {"error", "fatal", "exception", "panic", "abort"};
    bool is = false;
    for (size_t i = 0; i < sizeof nouns / sizeof *nouns; i++)
        for (const char *from = low, *at;
             !is && (at = joblog_find(from, length - (size_t)(from - low), nouns[i])) != NULL; from = at + 1)
            is = is_said(text, low, length, (size_t)(at - low), (size_t)(at - low) + strlen(nouns[i]));
    return is;
}

/* "error 0.0213", "error: 1e-3", "error 12%", "error: 7 of 100": a measure, and no error. */
static bool is_measure(const char *low, size_t length)
{
    static const char word[] = "error";
    const char *at = joblog_find(low, length, word);
    size_t from = at ? (size_t)(at - low) + sizeof word - 1 : length;
    while (from < length && strchr(" :=\"'", low[from]))
        from++;
    const size_t begin = from;
    while (from < length && assay_is_digit(low[from]))
        from++;
    if (from == begin || from >= length)
        return false;
    const bool counted = from + 3 < length && (memcmp(low + from, " of ", 4) == 0 || memcmp(low + from, " +-", 3) == 0);
    return counted || low[from] == '%' ||
           (from + 1 < length && ((low[from] == '.' && assay_is_digit(low[from + 1])) ||
                                  (low[from] == 'e' && strchr("+-0123456789", low[from + 1]))));
}

/* The level that stands among the first bytes of a line: 1 an error, -1 less than one, 0 none. */
static int level_of(const char *text, size_t length)
{
    enum { FRONT = 100 };
    static const char *const errors[] = {"ERROR", "FATAL",   "CRITICAL",    ": E ",
                                         ": F ",  "<error>", "level=error", "level=fatal"};
    static const char *const others[] = {"INFO", "WARN",   "DEBUG", "NOTICE",     ": I ",
                                         ": W ", "<info>", "<warn", "level=info", "level=warn"};
    const size_t front = length < FRONT ? length : FRONT;
    int level = 0;
    if (length > 5 && strchr("IWEF", text[0]) && assay_is_digit(text[1]) && assay_is_digit(text[2]) &&
        assay_is_digit(text[3]) && assay_is_digit(text[4]))
        level = text[0] == 'E' || text[0] == 'F' ? 1 : -1; /* as glog writes it */
    const char *first = NULL;
    for (size_t i = 0; i < sizeof errors / sizeof *errors && level == 0; i++) {
        const char *at = joblog_find(text, front, errors[i]);
        first = at && (!first || at < first) ? at : first;
    }
    level = level == 0 && first ? 1 : level;
    for (size_t i = 0; i < sizeof others / sizeof *others && level >= 0; i++) {
        const char *at = joblog_find(text, front, others[i]);
        level = at && (!first || at < first) ? -1 : level;
    }
    return level;
}

/* Is it a row of a table, what a shell was told to do ("set -x"), an option that a usage explains, a test that begins or is well, or
 * what a configure script looks for? */
static bool is_row(const char *text, size_t length)
{
    static const char *const begins[] = {"|", "+ ", "--", "[ RUN ", "[       OK ]", "checking "};
    while (length > 0 && *text == ' ') {
        text++;
        length--;
    }
    return is_one_of(begins, sizeof begins / sizeof *begins, text, length, false);
}

bool joblog_speaks_of_error(const joblog_line *line)
{
    char low[LOOKED_AT];
    const int level = level_of(line->text, line->length);
    if (line->body_length == 0 || level < 0)
        return false;
    const size_t size = joblog_lower(line->body, line->body_length, low, sizeof low);
    if (has_one(low, size, QUIET) || is_measure(low, size) || joblog_find(low, size, "%|") /* a progress bar */ ||
        is_row(line->text, line->length))
        return false;
    const char *blank = memchr(low, ' ', size); /* "[n0123] lost" has it in brackets, which are gone by now */
    const bool program = (blank && blank > low && blank[-1] == ':') || line->prefix.length > 0;
    return level > 0 || has_one(low, size, LOUD) || names_error(line->body, low, size) ||
           (program && has_one(low, size, LOUD_OF_PROGRAM));
}

bool joblog_speaks_of_success(const joblog_line *line)
{
    static const char words[] = "=success|=successful|=successfully|=succeeded|=reconnected|=recovered";
    /* of others, of none, or of an end */
    static const char none[] = "=not| 0 | no |false|rate|unless|until|exit|if |terminat|kill|: 0";
    char low[LOOKED_AT] = " ";
    const size_t size = 1 + joblog_lower(line->text, line->length, low + 1, sizeof low - 1);
    return has_one(low, size, words) && !has_one(low, size, none);
}
