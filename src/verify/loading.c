/* loading.c - goes through the opcodes of pickles, and grades what they name and call. */
#include "verify/loading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

/* torch before 1.6 writes five pickles behind one another; nobody loads more than STREAMS_MOST. */
enum { LINE_MOST = 4096, MEMO_FIRST = 256, NESTED_MOST = 4, STREAMS_MOST = 64 };

/* ENCODED: the bytes that _codecs.encode makes of a text, as pickles of protocol 2 have them. */
typedef enum value_kind { OTHER, TEXT, NAME, RESULT, ENCODED, TUPLE } value_kind;

/* What is known of a value on the stack. */
typedef struct value {
    value_kind kind;
    uint64_t at, size;   /* TEXT, ENCODED: its bytes */
    uint64_t next, more; /* NAME: the module's bytes are [at, size), the name's [next, more) */
    value_kind held;     /* TUPLE: what its first item is; that stands in the fields above */
} value;

typedef struct memo_slot {
    uint64_t slot; /* + 1; 0: free */
    value value;
} memo_slot;

typedef struct machine {
    const uint8_t *bytes;
    size_t size, at, from; /* of all; next byte; of the opcode under way */
    const char *opcode;
    value *stack;
    size_t height, room;
    size_t *mark;
    size_t marks, mark_room;
    memo_slot *memo;
    size_t memo_room, memoized;
    assay_loading *out;
    uint64_t base; /* of the bytes in what the caller looks at */
    int depth;     /* of pickles within texts */
    bool sure;     /* it says its protocol, as no text does */
    bool broken;   /* no loader comes further */
    bool cut;      /* the bytes end before it does */
    int status;
} machine;

bool assay_loading_is_pickle(const void *bytes, size_t size)
{
    const uint8_t *b = bytes;
    return size >= 2 && b[0] == 0x80 && b[1] <= 5;
}

/* ---- what was found ---- */

static void note(machine *m, assay_loading_grade grade, const char *name, bool called)
{
    assay_loading *out = m->out;
    out->grade = grade > out->grade ? grade : out->grade;
    if (grade == ASSAY_LOADING_DATA)
        return;
    for (size_t i = 0; i < out->kept; i++)
        if (strncmp(out->list[i].name, name, ASSAY_LOADING_NAME - 1) == 0) {
            if (called && !out->list[i].called) {
                out->list[i].called = true;
                out->list[i].opcode = m->opcode;
                out->list[i].offset = m->base + m->from;
            }
            out->list[i].grade = grade > out->list[i].grade ? grade : out->list[i].grade;
            return;
        }
    size_t place = out->kept;
    if (place == ASSAY_LOADING_NAMES) { /* what runs code takes the place of what does not */
        for (place = 0; place < out->kept && out->list[place].grade >= grade; place++)
            ;
        if (place == out->kept)
            return;
    } else {
        out->kept++;
    }
    assay_loading_name *n = &out->list[place];
    *n = (assay_loading_name){.grade = grade, .called = called, .opcode = m->opcode, .offset = m->base + m->from};
    snprintf(n->name, sizeof n->name, "%s", name);
}

/* A module's file may be called anything; what does not say that it is a pickle may be a text, where a name is one. */
static bool is_name_byte(const machine *m, uint8_t b)
{
    if (m->sure)
        return b >= ' ' && b != 0x7f;
    return b >= 0x80 || b == '_' || b == '.' || b == '<' || b == '>' || (b >= '0' && b <= '9') ||
           (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z');
}

static bool copy_name(const machine *m, uint64_t at, uint64_t size, char *out, size_t room)
{
    if (size == 0 || size >= room)
        return false;
    for (uint64_t i = 0; i < size; i++)
        if (!is_name_byte(m, m->bytes[at + i]))
            return false;
    memcpy(out, m->bytes + at, size);
    out[size] = '\0';
    return true;
}

/* Grades a value that is a name. */
static void judge_name(machine *m, const value *v, bool called)
{
    char module[LINE_MOST], name[LINE_MOST], both[ASSAY_LOADING_NAME];
    if (!copy_name(m, v->at, v->size, module, sizeof module) || !copy_name(m, v->next, v->more, name, sizeof name)) {
        m->broken = true; /* no import finds it */
        return;
    }
    snprintf(both, sizeof both, "%.120s.%.70s", module, name);
    note(m, assay_loading_grade_of(module, name), both, called);
}

/* getattr(CLASS, "MEMBER") is how members of enumerations are saved; of anything else it may lead anywhere. */
static bool is_getattr(const machine *m, const value *v)
{
    return v->kind == NAME && v->more == 7 && memcmp(m->bytes + v->next, "getattr", 7) == 0 &&
           ((v->size == 8 && memcmp(m->bytes + v->at, "builtins", 8) == 0) ||
            (v->size == 11 && memcmp(m->bytes + v->at, "__builtin__", 11) == 0));
}

static bool is_name(const machine *m, const value *v, const char *module, const char *name)
{
    return v->kind == NAME && v->size == strlen(module) && v->more == strlen(name) &&
           memcmp(m->bytes + v->at, module, (size_t)v->size) == 0 &&
           memcmp(m->bytes + v->next, name, (size_t)v->more) == 0;
}

static bool holds(const value *arguments, value_kind kind)
{
    return arguments->kind == TUPLE && arguments->held == kind;
}

static int scan(const uint8_t *bytes, size_t size, uint64_t base, int depth, assay_loading *out);

/* The bytes that stand in the pickle as a text of UTF-8; false: there are none, or they begin no pickle of torch. What
 * they hold is looked at. */
static bool scan_encoded(machine *m, const value *v)
{
    uint8_t *bytes = assay_alloc((size_t)v->size + 1);
    size_t size = 0;
    if (!bytes) {
        m->status = ASSAY_ENOMEM;
        return true;
    }
    for (uint64_t i = 0; i < v->size; i++) {
        const uint8_t b = m->bytes[v->at + i];
        const bool two = (b & 0xe0) == 0xc0 && i + 1 < v->size;
        bytes[size++] = two ? (uint8_t)(b << 6 | (m->bytes[v->at + ++i] & 0x3f)) : b;
    }
    const bool pickle = assay_loading_is_pickle(bytes, size) && m->depth < NESTED_MOST;
    if (pickle)
        m->status = scan(bytes, size, m->base + v->at, m->depth + 1, m->out);
    free(bytes);
    return pickle;
}

/* torch.storage._load_from_bytes loads what it is given, whatever that is: only a pickle that was looked at is data. */
static void judge_load(machine *m, const value *arguments)
{
    const bool plain = holds(arguments, TEXT) && m->depth < NESTED_MOST &&
                       assay_loading_is_pickle(m->bytes + arguments->at, (size_t)arguments->size);
    if (!plain && !(holds(arguments, ENCODED) && scan_encoded(m, arguments)))
        note(m, ASSAY_LOADING_CODE, "torch.storage._load_from_bytes of what cannot be looked at", true);
}

/* A call of what the value is, with arguments. */
static void judge_call(machine *m, const value *called, const value *arguments)
{
    if (is_getattr(m, called)) {
        if (!holds(arguments, NAME))
            note(m, ASSAY_LOADING_CODE, "getattr of an object", true);
        return;
    }
    if (is_name(m, called, "torch.storage", "_load_from_bytes"))
        judge_load(m, arguments);
    else if ((is_name(m, called, "torch._tensor", "_rebuild_from_type") ||
              is_name(m, called, "torch._tensor", "_rebuild_from_type_v2")) &&
             !holds(arguments, NAME)) /* they call their first argument */
        note(m, ASSAY_LOADING_CODE, "what a call returned", true);
    if (called->kind == NAME)
        judge_name(m, called, true);
    else if (called->kind == RESULT)
        note(m, ASSAY_LOADING_CODE, "what a call returned", true);
}

/* ---- the stack ---- */

static void push(machine *m, value v)
{
    if (m->height == m->room) {
        const size_t room = m->room ? 2 * m->room : 256;
        value *grown = assay_realloc_array(m->stack, room, sizeof *grown);
        if (!grown) {
            m->status = ASSAY_ENOMEM;
            return;
        }
        m->stack = grown;
        m->room = room;
    }
    m->stack[m->height++] = v;
}

static size_t floor_of(const machine *m)
{
    return m->marks > 0 ? m->mark[m->marks - 1] : 0;
}

static value pop(machine *m)
{
    if (m->height <= floor_of(m)) {
        m->broken = true;
        return (value){.kind = OTHER};
    }
    return m->stack[--m->height];
}

static void set_mark(machine *m)
{
    if (m->marks == m->mark_room) {
        const size_t room = m->mark_room ? 2 * m->mark_room : 64;
        size_t *grown = assay_realloc_array(m->mark, room, sizeof *grown);
        if (!grown) {
            m->status = ASSAY_ENOMEM;
            return;
        }
        m->mark = grown;
        m->mark_room = room;
    }
    m->mark[m->marks++] = m->height;
}

/* Ends the last mark; the values above it are [returned, height). */
static size_t end_mark(machine *m)
{
    if (m->marks == 0) {
        m->broken = true;
        return m->height;
    }
    return m->mark[--m->marks];
}

static void push_other(machine *m)
{
    push(m, (value){.kind = OTHER});
}

/* Values that go into something else: getattr among them may be called by whoever gets it. */
static void put_away(machine *m, size_t first)
{
    for (size_t i = first; i < m->height; i++)
        if (is_getattr(m, &m->stack[i]))
            note(m, ASSAY_LOADING_CODE, "getattr, which is handed on", false);
    m->height = first;
}

static void push_tuple(machine *m, size_t first)
{
    value v = {.kind = TUPLE};
    if (first < m->height) {
        v = m->stack[first];
        v.held = v.kind;
        v.kind = TUPLE;
    }
    put_away(m, first);
    push(m, v);
}

static void push_tuple_of(machine *m, size_t count)
{
    if (m->height < floor_of(m) + count)
        m->broken = true;
    else
        push_tuple(m, m->height - count);
}

static void drop(machine *m, size_t count)
{
    if (m->height < floor_of(m) + count)
        m->broken = true;
    else
        put_away(m, m->height - count);
}

/* ---- the memo ---- */

static memo_slot *find_slot(const machine *m, uint64_t slot)
{
    size_t at = (size_t)(slot * 0x9E3779B97F4A7C15U >> 20) & (m->memo_room - 1);
    while (m->memo[at].slot != 0 && m->memo[at].slot != slot + 1)
        at = (at + 1) & (m->memo_room - 1);
    return &m->memo[at];
}

static bool grow_memo(machine *m)
{
    machine bigger = *m;
    bigger.memo_room = m->memo_room ? 2 * m->memo_room : MEMO_FIRST;
    bigger.memo = assay_alloc_zeroed(bigger.memo_room, sizeof *bigger.memo);
    if (!bigger.memo) {
        m->status = ASSAY_ENOMEM;
        return false;
    }
    for (size_t i = 0; i < m->memo_room; i++)
        if (m->memo[i].slot != 0)
            *find_slot(&bigger, m->memo[i].slot - 1) = m->memo[i];
    free(m->memo);
    m->memo = bigger.memo;
    m->memo_room = bigger.memo_room;
    return true;
}

static void memo_put(machine *m, uint64_t slot)
{
    if (m->height <= floor_of(m)) {
        m->broken = true;
        return;
    }
    if (2 * m->memoized >= m->memo_room && !grow_memo(m))
        return;
    memo_slot *to = find_slot(m, slot);
    m->memoized += to->slot == 0;
    *to = (memo_slot){slot + 1, m->stack[m->height - 1]};
}

static void memo_get(machine *m, uint64_t slot)
{
    const memo_slot *from = m->memo_room ? find_slot(m, slot) : NULL;
    if (!from || from->slot == 0)
        m->broken = true;
    else
        push(m, from->value);
}

/* ---- bytes ---- */

static bool take(machine *m, uint64_t size, uint64_t *at)
{
    if (size > m->size - m->at) {
        m->broken = m->cut = true;
        return false;
    }
    *at = m->at;
    m->at += (size_t)size;
    return true;
}

static uint64_t number(machine *m, unsigned width)
{
    uint64_t at = 0, sum = 0;
    if (take(m, width, &at))
        for (unsigned i = 0; i < width; i++)
            sum |= (uint64_t)m->bytes[at + i] << 8 * i;
    return sum;
}

static bool line(machine *m, uint64_t *at, uint64_t *size)
{
    const uint8_t *begin = m->bytes + m->at, *end = memchr(begin, '\n', m->size - m->at);
    if (!end) {
        m->broken = m->cut = true;
        return false;
    }
    *at = m->at;
    *size = (uint64_t)(end - begin);
    m->at += (size_t)*size + 1;
    if (*size > 0 && m->bytes[*at + *size - 1] == '\r')
        --*size;
    return true;
}

static void skip_line(machine *m)
{
    uint64_t at = 0, size = 0;
    line(m, &at, &size);
    push_other(m);
}

/* A slot of the memo in digits. Python reads "+1", " 1" and "1_0" as well, which only who hides something writes. */
static uint64_t decimal_line(machine *m)
{
    enum { DIGITS_MOST = 18 };
    uint64_t at = 0, size = 0, sum = 0;
    if (!line(m, &at, &size))
        return 0;
    bool plain = size > 0 && size <= DIGITS_MOST;
    for (uint64_t i = 0; i < size && plain; i++) {
        plain = m->bytes[at + i] >= '0' && m->bytes[at + i] <= '9';
        sum = 10 * sum + (uint64_t)(m->bytes[at + i] - '0');
    }
    if (!plain && m->sure)
        note(m, ASSAY_LOADING_CODE, "a slot of the memo that is no plain number", false);
    m->broken = m->broken || !plain;
    return sum;
}

/* A text or bytes; what is a pickle itself is looked at as one, for functions like torch.storage._load_from_bytes. */
static void push_text(machine *m, unsigned width)
{
    const uint64_t size = number(m, width);
    uint64_t at = 0;
    if (m->broken || !take(m, size, &at))
        return;
    push(m, (value){.kind = TEXT, .at = at, .size = size});
    if (assay_loading_is_pickle(m->bytes + at, (size_t)size) && m->depth < NESTED_MOST && m->status == ASSAY_OK)
        m->status = scan(m->bytes + at, (size_t)size, m->base + at, m->depth + 1, m->out);
}

/* A text in a line, within quotes or not. What has a backslash in it is another text once it is loaded. */
static void push_line(machine *m)
{
    uint64_t at = 0, size = 0;
    if (!line(m, &at, &size))
        return;
    if (size >= 2 && (m->bytes[at] == '\'' || m->bytes[at] == '"') && m->bytes[at + size - 1] == m->bytes[at]) {
        at++;
        size -= 2;
    }
    const bool plain = !memchr(m->bytes + at, '\\', (size_t)size);
    push(m, (value){.kind = plain ? TEXT : OTHER, .at = at, .size = size});
}

/* ---- opcodes ---- */

static void push_global(machine *m)
{
    value v = {.kind = NAME};
    if (!line(m, &v.at, &v.size) || !line(m, &v.next, &v.more))
        return;
    if (!is_getattr(m, &v))
        judge_name(m, &v, false);
    push(m, v);
}

static void push_stack_global(machine *m)
{
    const value name = pop(m), module = pop(m);
    if (m->broken)
        return;
    if (name.kind != TEXT || module.kind != TEXT) {
        note(m, ASSAY_LOADING_CODE, "a name that is put together while it is loaded", false);
        push(m, (value){.kind = RESULT});
        return;
    }
    const value v = {.kind = NAME, .at = module.at, .size = module.size, .next = name.at, .more = name.size};
    if (!is_getattr(m, &v))
        judge_name(m, &v, false);
    push(m, v);
}

static void call(machine *m, size_t arguments)
{
    value given = {.kind = OTHER};
    for (size_t i = 0; i < arguments; i++)
        given = pop(m);
    const value called = pop(m);
    if (m->broken)
        return;
    judge_call(m, &called, &given);
    const bool encoded = is_name(m, &called, "_codecs", "encode") && holds(&given, TEXT);
    push(m, (value){.kind = encoded ? ENCODED : RESULT, .at = given.at, .size = given.size});
}

/* INST: the class stands in two lines, its arguments behind the mark. */
static void do_instance(machine *m, size_t unused)
{
    (void)unused;
    value v = {.kind = NAME};
    if (!line(m, &v.at, &v.size) || !line(m, &v.next, &v.more))
        return;
    const size_t first = end_mark(m);
    if (m->broken)
        return;
    push_tuple(m, first);
    const value arguments = pop(m);
    judge_call(m, &v, &arguments);
    push(m, (value){.kind = RESULT});
}

/* OBJ: the class is the first item behind the mark. */
static void do_object(machine *m, size_t unused)
{
    (void)unused;
    const size_t first = end_mark(m);
    if (m->broken || first >= m->height) {
        m->broken = true;
        return;
    }
    const value called = m->stack[first];
    push_tuple(m, first + 1);
    const value arguments = pop(m);
    m->height = first;
    judge_call(m, &called, &arguments);
    push(m, (value){.kind = RESULT});
}

static void do_build(machine *m, size_t unused)
{
    (void)unused;
    pop(m);
    if (!m->broken && m->height > floor_of(m) && m->stack[m->height - 1].kind == NAME)
        note(m, ASSAY_LOADING_CODE, "a change of what a module or class has", true);
}

static void extension(machine *m, unsigned width)
{
    char name[64];
    snprintf(name, sizeof name, "extension %llu of the registry", (unsigned long long)number(m, width));
    if (!m->broken)
        note(m, ASSAY_LOADING_CLASSES, name, false);
    push(m, (value){.kind = RESULT});
}

static void do_container(machine *m, size_t unused)
{
    (void)unused;
    const size_t first = end_mark(m);
    if (m->broken)
        return;
    put_away(m, first);
    push_other(m);
}

/* Takes the items above the mark away, and leaves the container below it. */
static void do_fill(machine *m, size_t unused)
{
    (void)unused;
    const size_t first = end_mark(m);
    if (!m->broken)
        put_away(m, first);
    if (m->height <= floor_of(m))
        m->broken = true;
}

static void pop_one(machine *m)
{
    if (m->height == floor_of(m) && m->marks > 0)
        end_mark(m);
    else
        pop(m);
}

/* ---- what each opcode does, with a number of the table below ---- */

static void do_protocol(machine *m, size_t most)
{
    uint64_t at = 0;
    m->broken = !take(m, 1, &at) || m->bytes[at] > most;
}

static void do_skip(machine *m, size_t bytes)
{
    uint64_t at = 0;
    take(m, bytes, &at);
}

/* A number of so many bytes, or something of none. */
static void do_value(machine *m, size_t bytes)
{
    do_skip(m, bytes);
    push_other(m);
}

/* An integer whose length comes first. */
static void do_long(machine *m, size_t width)
{
    uint64_t at = 0;
    take(m, number(m, (unsigned)width), &at);
    push_other(m);
}

static void do_line(machine *m, size_t unused)
{
    (void)unused;
    skip_line(m);
}

static void do_text(machine *m, size_t width)
{
    if (width == 0)
        push_line(m);
    else
        push_text(m, (unsigned)width);
}

static void do_tuple(machine *m, size_t items)
{
    push_tuple_of(m, items);
}

static void do_marked_tuple(machine *m, size_t unused)
{
    (void)unused;
    const size_t first = end_mark(m);
    if (!m->broken)
        push_tuple(m, first);
}

static void do_mark(machine *m, size_t unused)
{
    (void)unused;
    set_mark(m);
}

static void do_pop(machine *m, size_t unused)
{
    (void)unused;
    pop_one(m);
}

static void do_pop_mark(machine *m, size_t unused)
{
    (void)unused;
    const size_t first = end_mark(m);
    m->height = m->broken ? m->height : first;
}

static void do_again(machine *m, size_t unused)
{
    (void)unused;
    const value top = pop(m);
    push(m, top);
    push(m, top);
}

static void do_drop(machine *m, size_t items)
{
    drop(m, items);
}

static void do_global(machine *m, size_t unused)
{
    (void)unused;
    push_global(m);
}

static void do_stack_global(machine *m, size_t unused)
{
    (void)unused;
    push_stack_global(m);
}

static void do_extension(machine *m, size_t width)
{
    extension(m, (unsigned)width);
}

static void do_persistent(machine *m, size_t unused)
{
    (void)unused;
    pop(m);
    push_other(m);
}

/* Of no bytes: the slot stands in a line. */
static void do_put(machine *m, size_t width)
{
    memo_put(m, width ? number(m, (unsigned)width) : decimal_line(m));
}

static void do_memoize(machine *m, size_t unused)
{
    (void)unused;
    memo_put(m, m->memoized);
}

static void do_get(machine *m, size_t width)
{
    memo_get(m, width ? number(m, (unsigned)width) : decimal_line(m));
}

/* Names are kept of those that may name or call something. */
static const struct opcode {
    uint8_t code;
    uint8_t number;
    void (*run)(machine *m, size_t number);
    const char *name;
} opcodes[] = {
    {0x80, 5, do_protocol, NULL},    {0x95, 8, do_skip, NULL}, /* FRAME */
    {0x98, 0, do_skip, NULL},                                  /* READONLY_BUFFER */
    {'(', 0, do_mark, NULL},         {'0', 0, do_pop, NULL},
    {'1', 0, do_pop_mark, NULL},     {'2', 0, do_again, NULL},
    {'N', 0, do_value, NULL},        {0x88, 0, do_value, NULL}, /* NEWTRUE, NEWFALSE, EMPTY_SET, NEXT_BUFFER */
    {0x89, 0, do_value, NULL},       {0x8f, 0, do_value, NULL},
    {0x97, 0, do_value, NULL},       {']', 0, do_value, NULL},
    {'}', 0, do_value, NULL},        {'K', 1, do_value, NULL},
    {'M', 2, do_value, NULL},        {'J', 4, do_value, NULL},
    {'G', 8, do_value, NULL},        {0x8a, 1, do_long, NULL},
    {0x8b, 4, do_long, NULL},        {'F', 0, do_line, NULL},
    {'I', 0, do_line, NULL},         {'L', 0, do_line, NULL},
    {'P', 0, do_line, NULL}, /* PERSID */
    {'S', 0, do_text, NULL},         {'V', 0, do_text, NULL},
    {'U', 1, do_text, NULL},         {'C', 1, do_text, NULL},
    {0x8c, 1, do_text, NULL}, /* SHORT_BINUNICODE */
    {'T', 4, do_text, NULL},         {'X', 4, do_text, NULL},
    {'B', 4, do_text, NULL},         {0x8d, 8, do_text, NULL}, /* BINUNICODE8, BINBYTES8, BYTEARRAY8 */
    {0x8e, 8, do_text, NULL},        {0x96, 8, do_text, NULL},
    {')', 0, do_tuple, NULL},        {0x85, 1, do_tuple, NULL},
    {0x86, 2, do_tuple, NULL},       {0x87, 3, do_tuple, NULL},
    {'t', 0, do_marked_tuple, NULL}, {'l', 0, do_container, NULL},
    {'d', 0, do_container, NULL},    {0x91, 0, do_container, NULL}, /* FROZENSET */
    {'a', 1, do_drop, NULL},         {'s', 2, do_drop, NULL},
    {'e', 0, do_fill, NULL},         {'u', 0, do_fill, NULL},
    {0x90, 0, do_fill, NULL}, /* ADDITEMS */
    {'c', 0, do_global, "GLOBAL"},   {0x93, 0, do_stack_global, "STACK_GLOBAL"},
    {'R', 1, call, "REDUCE"},        {0x81, 1, call, "NEWOBJ"},
    {0x92, 2, call, "NEWOBJ_EX"},    {'i', 0, do_instance, "INST"},
    {'o', 0, do_object, "OBJ"},      {'b', 0, do_build, "BUILD"},
    {0x82, 1, do_extension, "EXT1"}, {0x83, 2, do_extension, "EXT2"},
    {0x84, 4, do_extension, "EXT4"}, {'Q', 0, do_persistent, NULL},
    {'q', 1, do_put, NULL},          {'r', 4, do_put, NULL},
    {'p', 0, do_put, NULL},          {0x94, 0, do_memoize, NULL},
    {'h', 1, do_get, NULL},          {'j', 4, do_get, NULL},
    {'g', 0, do_get, NULL},
};

enum { CODES = 256 };

/* The table by code; NULL: an opcode that nobody knows. */
static void index_opcodes(const struct opcode *out[CODES])
{
    for (size_t i = 0; i < CODES; i++)
        out[i] = NULL;
    for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++)
        out[opcodes[i].code] = &opcodes[i];
}

/* One pickle. True: it came to its STOP. */
static bool run(machine *m)
{
    const struct opcode *by_code[CODES];
    index_opcodes(by_code);
    while (m->at < m->size && !m->broken && m->status == ASSAY_OK) {
        m->from = m->at;
        const uint8_t code = m->bytes[m->at++];
        if (code == '.')
            return m->height > 0;
        const struct opcode *op = by_code[code];
        if (!op)
            return false;
        m->opcode = op->name ? op->name : "";
        op->run(m, op->number);
    }
    m->cut = m->cut || (m->at == m->size && !m->broken);
    return false;
}

/* Makes it ready for the next pickle. */
static void begin(machine *m)
{
    free(m->memo);
    m->memo = NULL;
    m->height = m->marks = m->memoized = m->memo_room = 0;
    m->broken = m->cut = false;
    m->sure = assay_loading_is_pickle(m->bytes + m->at, m->size - m->at);
}

static int scan(const uint8_t *bytes, size_t size, uint64_t base, int depth, assay_loading *out)
{
    machine m = {.bytes = bytes, .size = size, .base = base, .depth = depth, .out = out};
    begin(&m);
    bool going = run(&m); /* of the first one even what a loader runs before it fails counts */
    out->streams++;
    out->cut = m.cut;
    for (int more = 0; going && m.at < size && m.status == ASSAY_OK && more < STREAMS_MOST; more++) {
        const assay_loading before = *out;
        begin(&m);
        going = run(&m);
        if (!going && !m.sure) /* bytes that are no pickle: elements, padding */
            *out = before;
        else
            out->cut = m.cut;
        out->streams += going;
    }
    free(m.stack);
    free(m.mark);
    free(m.memo);
    return m.status;
}

int assay_loading_scan(const void *bytes, size_t size, assay_loading *out)
{
    return scan(bytes, size, 0, 0, out);
}
