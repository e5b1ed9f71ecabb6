/* file.c - one trace file while it is read: takes its events apart by kind, and makes rows of them at its end. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fault.h"
#include "base/search.h"
#include "trace/internal.h"

/* Lists of a file are held while it is read, and a file may be a stranger's: both limits bound its memory, not what
 * is sensible. */
enum {
    MOST_KEPT = 1 << 26,          /* activities, runtime calls and operators of a file: 32 bytes each */
    MOST_COMMUNICATIONS = 4000000 /* kernels of communication of a file */
};
#define MOST_TIME  ((int64_t)1 << 62) /* ns; later is no time */
#define MOST_APART ((int64_t)1 << 41) /* ns between steps and kernels of communication: 37 minutes */

/* ---- names ---- */

static bool is_text(assay_text text, const char *word)
{
    return text.bytes && strlen(word) == text.length && memcmp(text.bytes, word, text.length) == 0;
}

static bool is_one_of(assay_text text, const char *const *words)
{
    while (*words && !is_text(text, *words))
        words++;
    return *words != NULL;
}

static bool begins(assay_text text, const char *word)
{
    const size_t length = strlen(word);
    return text.length >= length && memcmp(text.bytes, word, length) == 0;
}

static bool ends(assay_text text, const char *word)
{
    const size_t length = strlen(word);
    return text.length >= length && memcmp(text.bytes + text.length - length, word, length) == 0;
}

/* Tells whether a text has a word, in any case. `word` is in small letters. */
static bool has_word(assay_text text, const char *word)
{
    const size_t length = strlen(word);
    for (size_t i = 0; i + length <= text.length; i++)
        if ((text.bytes[i] | 0x20) == word[0] && strncasecmp(text.bytes + i, word, length) == 0)
            return true;
    return false;
}

/* Tells whether a text has a part, from some place on. */
static bool has_part(assay_text text, const char *part)
{
    return text.length > 0 && memmem(text.bytes, text.length, part, strlen(part)) != NULL;
}

/* Names come from drivers of all makers. Kernels of communication without a description are told by the name of a
 * library alone. */
static activity_class class_of_kernel(assay_text name)
{
    static const char *const libraries[] = {"nccl",        "rccl",    "oneccl", "xccl", "hccl", "cross_device_reduce",
                                            "quickreduce", "mscclpp", NULL};
    static const char *const copies[] = {"MEMORY_COPY_HOST_TO_DEVICE",         "MEMORY_COPY_DEVICE_TO_HOST",
                                         "MEMORY_COPY_DEVICE_TO_DEVICE",       "__amd_rocclr_copyBuffer",
                                         "__amd_rocclr_copyBufferRect",        "__amd_rocclr_copyBufferAligned",
                                         "__amd_rocclr_copyBufferRectAligned", NULL};
    assay_text stem = name;
    if (ends(name, ".kd"))
        stem.length -= strlen(".kd");
    if (is_one_of(stem, copies))
        return CLASS_COPY;
    for (size_t i = 0; libraries[i]; i++)
        if (has_word(name, libraries[i]))
            return CLASS_COMMUNICATION;
    return CLASS_COMPUTATION;
}

/* Finds the class once for each name: a file has millions of kernels, and few names. */
static int find_class(assay_trace_collector *c, uint32_t name, assay_text text, activity_class *class)
{
    if (name >= c->name_class.count) {
        const size_t more = name + (size_t)1 - c->name_class.count;
        ASSAY_HAVE(ASSAY_VEC_RESERVE(&c->name_class, more));
        memset(c->name_class.list + c->name_class.count, 0, more);
        c->name_class.count += more;
    }
    uint8_t *known = &c->name_class.list[name];
    if (*known == 0)
        *known = (uint8_t)(class_of_kernel(text) + 1);
    *class = (activity_class)(*known - 1);
    return ASSAY_OK;
}

/* Tells whether the host stands in such a call until the device is done. Names may have an ending of their version,
 * so beginnings count. */
static bool is_blocking(assay_text name)
{
    static const char *const calls[] = {"cudaDeviceSynchronize",
                                        "cudaStreamSynchronize",
                                        "cudaEventSynchronize",
                                        "hipDeviceSynchronize",
                                        "hipStreamSynchronize",
                                        "hipEventSynchronize",
                                        "cuCtxSynchronize",
                                        "cuStreamSynchronize",
                                        "cuEventSynchronize",
                                        "urQueueFinish",
                                        "piQueueFinish",
                                        "urEventWait",
                                        "urEventsWait",
                                        "piEventWait",
                                        "piEventsWait",
                                        "zeEventHostSynchronize",
                                        "zeFenceHostSynchronize",
                                        "zeCommandQueueSynchronize",
                                        "zeCommandListHostSynchronize",
                                        NULL};
    for (size_t i = 0; calls[i]; i++)
        if (begins(name, calls[i]))
            return true;
    /* A copy without "Async" blocks as well. */
    return (begins(name, "cudaMemcpy") || begins(name, "hipMemcpy")) && !has_part(name, "Async");
}

/* ---- events ---- */

static uint32_t name_of(assay_trace_collector *c, assay_text text)
{
    return assay_dict_add(c->texts, text.bytes ? text.bytes : "", text.length);
}

/* Adds a text where it is new, and returns its number; ASSAY_NO_ID without memory. */
static uint32_t add_text(assay_trace_collector *c, const char *text, size_t length)
{
    return assay_dict_add(c->texts, text, length);
}

uint32_t trace_add_call(assay_trace_collector *c, const call_row *call)
{
    const uint32_t id = assay_dict_add(c->calls, (const char *)call, sizeof *call);
    if (id == ASSAY_NO_ID || id < c->call.count)
        return id;
    call_row *row = ASSAY_VEC_ADD(&c->call);
    if (row)
        *row = *call;
    return row ? id : ASSAY_NO_ID;
}

/* Numbers a thread by its process and its own id, which two processes may share. */
static uint32_t thread_of(trace_file *f, const assay_trace_event *e)
{
    const uint64_t key[2] = {e->process, e->thread};
    return assay_dict_add(f->threads, (const char *)key, sizeof key);
}

/* Counts one more event that is kept; false: there are too many, the file is set aside. */
static bool may_keep(trace_file *f)
{
    if (f->kept++ < MOST_KEPT)
        return true;
    f->refused = "more than 67108864 kernels, calls and operators";
    return false;
}

static int take_step(assay_trace_collector *c, const assay_trace_event *e)
{
    trace_file *f = &c->now;
    const size_t prefix = strlen("ProfilerStep#");
    int64_t number = 0;
    /* 18 digits fit an int64_t. Other names that begin so are no steps of the profiler. */
    if (e->name.length <= prefix || e->name.length > prefix + 18)
        return ASSAY_OK;
    for (size_t i = prefix; i < e->name.length; i++) {
        if (e->name.bytes[i] < '0' || e->name.bytes[i] > '9')
            return ASSAY_OK;
        number = 10 * number + (e->name.bytes[i] - '0');
    }
    step_span *step = ASSAY_VEC_ADD(&f->step);
    ASSAY_HAVE(step);
    *step = (step_span){number, e->begin, e->begin + e->duration, f->step.count};
    return ASSAY_OK;
}

/* A call that launched nothing and does not block says nothing. */
static int take_call(assay_trace_collector *c, const assay_trace_event *e)
{
    trace_file *f = &c->now;
    const bool blocks = is_blocking(e->name);
    if ((e->correlation == 0 && !blocks) || !may_keep(f))
        return ASSAY_OK;
    runtime_call *call = ASSAY_VEC_ADD(&f->runtime);
    ASSAY_HAVE(call);
    *call = (runtime_call){e->begin, e->begin + e->duration, e->correlation, thread_of(f, e), blocks};
    return call->thread == ASSAY_NO_ID ? ASSAY_ENOMEM : ASSAY_OK;
}

/* record_param_comms is where the host launched a collective. Waits and the start of a group carry the same name, but
 * launch nothing. */
static int take_operator(assay_trace_collector *c, const assay_trace_event *e)
{
    trace_file *f = &c->now;
    if (is_text(e->name, "record_param_comms") && e->external != 0 && !is_text(e->operation, "wait") &&
        !is_text(e->operation, "init")) {
        host_launch *launch = ASSAY_VEC_ADD(&f->launch);
        ASSAY_HAVE(launch);
        *launch = (host_launch){e->external, e->begin};
    }
    if (!may_keep(f))
        return ASSAY_OK;
    operator_span *op = ASSAY_VEC_ADD(&f->operators);
    ASSAY_HAVE(op);
    *op = (operator_span){e->begin, e->begin + e->duration, thread_of(f, e), name_of(c, e->name)};
    return op->thread == ASSAY_NO_ID || op->name == ASSAY_NO_ID ? ASSAY_ENOMEM : ASSAY_OK;
}

/* Makes the key of a group: its name, 0, and its ranks ascending. ASSAY_NO_ID in *group where the ranks are not
 * said. */
static int find_group(assay_trace_collector *c, assay_text name, const int32_t *ranks, size_t count, uint32_t *group)
{
    *group = ASSAY_NO_ID;
    if (count == 0)
        return ASSAY_OK;
    assay_buf_clear(&c->key);
    assay_put_bytes(&c->key, name.bytes, name.length);
    assay_put_u8(&c->key, 0);
    assay_put_bytes(&c->key, ranks, count * sizeof *ranks);
    if (assay_buf_status(&c->key) != ASSAY_OK)
        return assay_buf_status(&c->key);
    *group = add_text(c, (const char *)c->key.data, c->key.size);
    return *group == ASSAY_NO_ID ? ASSAY_ENOMEM : ASSAY_OK;
}

/* Takes a kernel of communication. Until the head of the file is known, a group whose ranks the event does not have
 * is its name and 0 alone. */
static int take_communication(assay_trace_collector *c, const assay_trace_event *e)
{
    trace_file *f = &c->now;
    if (f->communication.count == MOST_COMMUNICATIONS) {
        f->refused = "more than 4000000 kernels of communication";
        return ASSAY_OK;
    }
    communication *k = ASSAY_VEC_ADD(&f->communication);
    ASSAY_HAVE(k);
    call_row call = {.description = name_of(c, e->group_description),
                     .operation = name_of(c, e->operation),
                     .dtype = name_of(c, e->dtype),
                     .in = e->in,
                     .out = e->out,
                     .size = e->size};
    *k = (communication){.begin = e->begin,
                         .end = e->begin + e->duration,
                         .sequence = e->sequence,
                         .external = e->external,
                         .source = e->source,
                         .destination = e->destination,
                         .order = (uint32_t)f->communication.count};
    int status = find_group(c, e->group, e->ranks, e->rank_count, &k->group);
    if (status == ASSAY_OK && k->group == ASSAY_NO_ID && e->group.bytes) {
        assay_buf_clear(&c->key);
        assay_put_bytes(&c->key, e->group.bytes, e->group.length);
        assay_put_u8(&c->key, 0);
        k->group = add_text(c, (const char *)c->key.data, c->key.size);
        status = assay_buf_status(&c->key);
        status = status == ASSAY_OK && k->group == ASSAY_NO_ID ? ASSAY_ENOMEM : status;
    }
    if (call.description == ASSAY_NO_ID || call.operation == ASSAY_NO_ID || call.dtype == ASSAY_NO_ID)
        return ASSAY_ENOMEM;
    k->call = trace_add_call(c, &call);
    return k->call == ASSAY_NO_ID ? ASSAY_ENOMEM : status;
}

static int take_activity(assay_trace_collector *c, const assay_trace_event *e, bool is_copy, bool is_memset)
{
    trace_file *f = &c->now;
    const bool is_kernel = is_text(e->category, "kernel");
    activity_class class = CLASS_COMPUTATION;
    if (is_kernel && e->communicates) {
        /* The kernel is an activity as well: the device is busy with it. */
        const int status = take_communication(c, e);
        if (status != ASSAY_OK)
            return status;
    }
    if (!may_keep(f))
        return ASSAY_OK;
    activity *a = ASSAY_VEC_ADD(&f->activity);
    ASSAY_HAVE(a);
    *a = (activity){e->begin, e->begin + e->duration, e->correlation, name_of(c, e->name), CLASS_COMPUTATION, false};
    if (a->name == ASSAY_NO_ID)
        return ASSAY_ENOMEM;
    if (!is_copy && !is_memset) {
        ASSAY_TRY(find_class(c, a->name, e->name, &class));
    }
    a->computes = is_kernel && !e->communicates && class != CLASS_COMMUNICATION;
    c->row.kernels += is_kernel && e->communicates;
    c->row.without_description += is_kernel && !e->communicates && class == CLASS_COMMUNICATION;
    a->class = (uint8_t)(is_copy ? CLASS_COPY : e->communicates && is_kernel ? CLASS_COMMUNICATION : class);
    return ASSAY_OK;
}

static int take_input(assay_trace_collector *c, const assay_trace_event *e)
{
    interval *span = ASSAY_VEC_ADD(&c->now.input);
    ASSAY_HAVE(span);
    *span = (interval){e->begin, e->begin + e->duration};
    return ASSAY_OK;
}

/* Each is bounded before the sum is taken, so that times of a stranger overflow nowhere. */
static bool has_time(const assay_trace_event *e)
{
    return e->begin != ASSAY_NO_TIME && e->duration != ASSAY_NO_TIME && e->begin >= 0 && e->duration >= 0 &&
           e->begin < MOST_TIME && e->duration < MOST_TIME && e->begin + e->duration < MOST_TIME;
}

typedef enum event_kind { OTHER_EVENT, KERNEL, COPY, MEMSET, CALL, OPERATOR, ANNOTATION } event_kind;

/* Tells what events of a category are; those in capitals are of Kineto before PyTorch 1.12. */
static event_kind kind_of(assay_text category)
{
#define CATEGORY(name, kind)                                                                                           \
    {                                                                                                                  \
        name, sizeof name - 1, kind                                                                                    \
    }
    static const struct {
        const char *name;
        size_t length;
        event_kind kind;
    } categories[] = {
        CATEGORY("kernel", KERNEL),    CATEGORY("Kernel", KERNEL),     CATEGORY("mtia_ccp_events", KERNEL),
        CATEGORY("gpu_memcpy", COPY),  CATEGORY("Memcpy", COPY),       CATEGORY("gpu_memset", MEMSET),
        CATEGORY("Memset", MEMSET),    CATEGORY("cuda_runtime", CALL), CATEGORY("cuda_driver", CALL),
        CATEGORY("hip_runtime", CALL), CATEGORY("hip_api", CALL),      CATEGORY("xpu_runtime", CALL),
        CATEGORY("xpu_driver", CALL),  CATEGORY("mtia_runtime", CALL), CATEGORY("Runtime", CALL),
        CATEGORY("cpu_op", OPERATOR),  CATEGORY("Operator", OPERATOR), CATEGORY("user_annotation", ANNOTATION),
    };
#undef CATEGORY
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
        if (categories[i].length == category.length && memcmp(categories[i].name, category.bytes, category.length) == 0)
            return categories[i].kind;
    return OTHER_EVENT;
}

static int take_event(void *context, const assay_trace_event *e)
{
    assay_trace_collector *c = context;
    const event_kind kind = kind_of(e->category);
    const bool is_copy = kind == COPY, is_memset = kind == MEMSET, is_call = kind == CALL;
    const bool is_activity = is_copy || is_memset || kind == KERNEL;
    const bool is_step = (kind == OPERATOR || kind == ANNOTATION) && begins(e->name, "ProfilerStep#");
    const bool is_operator = kind == OPERATOR && !is_step; /* steps were operators before PyTorch 1.12 */
    const bool is_input = begins(e->name, "enumerate(DataLoader)") && ends(e->name, ".__next__");
    int status = ASSAY_OK;
    c->row.events++;
    /* A file that was refused is read to its end, but nothing more of it is kept. */
    if (c->now.refused || !(is_activity || is_call || is_operator || is_step || is_input))
        return ASSAY_OK;
    if (!has_time(e)) {
        c->row.without_time++;
        return ASSAY_OK;
    }
    if (is_step)
        status = take_step(c, e);
    if (is_input && status == ASSAY_OK)
        status = take_input(c, e);
    if (is_activity && status == ASSAY_OK)
        status = take_activity(c, e, is_copy, is_memset);
    if (is_call && status == ASSAY_OK)
        status = take_call(c, e);
    if (is_operator && status == ASSAY_OK)
        status = take_operator(c, e);
    return status;
}

static void take_other(void *context)
{
    ((assay_trace_collector *)context)->row.events++;
}

static int take_head(void *context, const assay_trace_head *head)
{
    assay_trace_collector *c = context;
    c->now.rank = head->rank;
    c->now.base = head->base;
    c->row.too_large = head->too_large;
    return ASSAY_OK;
}

/* The head may come behind the events, so groups are settled at the end of the file. */
static int take_group(void *context, assay_text name, const int32_t *ranks, size_t count)
{
    assay_trace_collector *c = context;
    said_group *said = ASSAY_VEC_ADD(&c->now.said);
    ASSAY_HAVE(said);
    said->name = name_of(c, name);
    return said->name == ASSAY_NO_ID ? ASSAY_ENOMEM : find_group(c, name, ranks, count, &said->ranks);
}

/* Any problem sets the whole file aside at its end. */
static int take_problem(void *context, assay_event_problem problem, uint64_t line, const char *text)
{
    assay_trace_collector *c = context;
    (void)problem;
    (void)line;
    assay_put_format(&c->why, "%s%s", c->why.size > 0 ? "; " : "", text);
    return assay_buf_status(&c->why) == ASSAY_ENOMEM ? ASSAY_ENOMEM : ASSAY_OK;
}

const assay_event_sink trace_file_sink = {.problem = take_problem,
                                          .other = take_other,
                                          .trace_event = take_event,
                                          .trace_head = take_head,
                                          .trace_group = take_group};

/* ---- the file ---- */

void trace_file_release(trace_file *f)
{
    free(f->activity.list);
    free(f->runtime.list);
    free(f->operators.list);
    free(f->input.list);
    free(f->step.list);
    free(f->launch.list);
    free(f->communication.list);
    free(f->said.list);
    assay_dict_free(f->threads);
    *f = (trace_file){0};
}

int trace_file_begin(assay_trace_collector *c, uint32_t number)
{
    c->now = (trace_file){.rank = -1, .threads = assay_dict_new()};
    c->row = (file_row){.number = number, .rank = -1};
    assay_buf_clear(&c->why);
    return c->now.threads ? ASSAY_OK : ASSAY_ENOMEM;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads the number at a place of a name, -1: there is none, or none that a rank has. */
static int32_t number_at(const char *p)
{
    int64_t number = 0;
    if (!is_digit(*p))
        return -1;
    for (; is_digit(*p); p++)
        number = number > INT32_MAX ? number : 10 * number + (*p - '0');
    return number < INT32_MAX ? (int32_t)number : -1;
}

/* Finds the number behind a word of a name, with one of the marks between them or none; -1: there is none. */
static int32_t number_behind(const char *name, const char *word, const char *marks)
{
    for (const char *p = name; (p = strcasestr(p, word)); p++) {
        const char *digits = p + strlen(word);
        digits += *digits && strchr(marks, *digits);
        if (is_digit(*digits))
            return number_at(digits);
    }
    return -1;
}

/* Finds the rank that a file's name says, -1: none. The ways are tried from the surest to a mere number at the end. */
static int32_t rank_of_name(const char *path)
{
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    const int32_t rank = number_behind(name, "rank", "-_=[");
    const size_t worker = strlen("worker"), digits = strspn(name, "worker0123456789");
    if (rank >= 0)
        return rank;
    if (strncmp(name, "worker", worker) == 0 && name[digits] == '.' && is_digit(name[worker]))
        return number_at(name + worker); /* as TensorBoard's plugin has it; a host may be called worker-3 */
    size_t length = strlen(name);
    if (length > 3 && strcmp(name + length - 3, ".gz") == 0)
        length -= 3;
    if (length > 5 && memcmp(name + length - 5, ".json", 5) == 0)
        length -= 5;
    size_t from = length;
    while (from > 0 && is_digit(name[from - 1]))
        from--;
    return from < length ? number_at(name + from) : -1;
}

/* "local_rank_3" and the like are numbers within a node. */
int32_t trace_file_named_rank(const char *path)
{
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    return strcasestr(name, "local") ? -1 : number_behind(name, "rank", "-_=[");
}

ASSAY_ORDER_BY(compare_said, said_group, name)

/* Gives a group whose ranks no event had those that the head of the file has, or none. */
static void settle_group(assay_trace_collector *c, const trace_file *f, communication *k)
{
    size_t length = 0;
    const char *key = assay_dict_name(c->texts, k->group, &length);
    const size_t name = strnlen(key, length);
    if (name + 1 < length) /* it has ranks */
        return;
    const said_group wanted = {.name = assay_dict_find(c->texts, key, name)};
    const said_group *said =
        f->said.count > 0 ? bsearch(&wanted, f->said.list, f->said.count, sizeof wanted, compare_said) : NULL;
    k->group = said ? said->ranks : ASSAY_NO_ID;
}

static void settle_groups(assay_trace_collector *c, trace_file *f)
{
    if (f->said.count > 1)
        qsort(f->said.list, f->said.count, sizeof *f->said.list, compare_said);
    for (size_t i = 0; i < f->communication.count; i++)
        if (f->communication.list[i].group != ASSAY_NO_ID)
            settle_group(c, f, &f->communication.list[i]);
}

/* Tells why the file cannot be used, by what is in it; NULL: it can. */
static const char *refuse(const trace_file *f, const file_row *row)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < f->step.count; i++) {
        first = f->step.list[i].begin < first ? f->step.list[i].begin : first;
        last = f->step.list[i].end > last ? f->step.list[i].end : last;
    }
    for (size_t i = 0; i < f->communication.count; i++) {
        first = f->communication.list[i].begin < first ? f->communication.list[i].begin : first;
        last = f->communication.list[i].end > last ? f->communication.list[i].end : last;
    }
    if (first < last && last - first > MOST_APART)
        return "steps and kernels of communication are more than 2^41 ns (37 minutes) apart";
    if (row->events == 0)
        return "no events";
    return f->refused;
}

/* Without steps the file is one step, whose ends only trace_file_alone finds: hence the two places of
 * trace_file_steps. */
static int keep_file(assay_trace_collector *c)
{
    trace_file *f = &c->now;
    file_row *row = &c->row;
    const size_t first = c->step.count;
    int status = ASSAY_OK;
    settle_groups(c, f);
    if (f->step.count > 0)
        status = trace_file_steps(c, f, row);
    if (status == ASSAY_OK) {
        row->whole_file = f->step.count == 0;
        status = trace_file_alone(c, f, row, c->step.list ? c->step.list + first : NULL);
    }
    if (status == ASSAY_OK && f->step.count == 0)
        status = trace_file_steps(c, f, row);
    if (status == ASSAY_OK && row->steps > 0)
        status = trace_file_kernels(c, f, row, c->step.list + first);
    return status;
}

static int add_problem(assay_trace_collector *c, const char *text, size_t length)
{
    problem_row *problem = ASSAY_VEC_ADD(&c->problem);
    ASSAY_HAVE(problem);
    *problem = (problem_row){c->row.number, add_text(c, text, length)};
    return problem->text == ASSAY_NO_ID ? ASSAY_ENOMEM : ASSAY_OK;
}

/* A problem that the reader told comes before what the rows would say. */
int trace_file_end(assay_trace_collector *c, const assay_event_file *file)
{
    file_row *row = &c->row;
    const char *why = c->why.size > 0 ? NULL : refuse(&c->now, row);
    int status = ASSAY_OK;
    row->rank = c->now.rank >= 0 ? c->now.rank : rank_of_name(file->path);
    if (why)
        assay_put_format(&c->why, "%s", why);
    if (c->why.size > 0) {
        row->state = FILE_SET_ASIDE;
        status = add_problem(c, (const char *)c->why.data, c->why.size);
    } else {
        status = keep_file(c);
        row->state = row->rank < 0 ? FILE_NO_RANK : FILE_USED;
        if (status == ASSAY_OK && row->steps == 0) {
            static const char text[] = "no step, kernel or operator";
            row->state = FILE_SET_ASIDE;
            status = add_problem(c, text, sizeof text - 1);
        }
    }
    if (status == ASSAY_OK) {
        file_row *to = ASSAY_VEC_ADD(&c->file);
        if (to)
            *to = *row;
        status = to ? ASSAY_OK : ASSAY_ENOMEM;
    }
    trace_file_release(&c->now);
    return status;
}
