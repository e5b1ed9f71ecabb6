/* loading.c - goes through the opcodes of pickles, and grades what they name and call. */
#include "verify/loading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

/* torch before 1.6 writes five pickles behind one another; nobody loads more than STREAMS_MOST. */
enum { LINE_MOST = 4096, MEMO_FIRST = 256, NESTED_MOST = 4, STREAMS_MOST = 64 };

typedef enum value_kind { OTHER, TEXT, NAME, RESULT, TUPLE } value_kind;

/* What is known of a value on the stack. */
typedef struct value {
    value_kind kind;
    uint64_t at, size;   /* TEXT: its bytes */
    uint64_t next, more; /* NAME: the module's bytes are [at, size), the name's [next, more) */
    bool holds_name;     /* TUPLE: its first item is a name; that stands in the fields above */
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
    bool broken;   /* no loader comes further */
    int status;
} machine;

bool assay_loading_is_pickle(const void *bytes, size_t size)
{
    const uint8_t *b = bytes;
    return size >= 2 && b[0] == 0x80 && b[1] >= 2 && b[1] <= 5;
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

static bool is_name_byte(uint8_t b)
{
    return b >= 0x80 || b == '_' || b == '.' || b == '<' || b == '>' || (b >= '0' && b <= '9') ||
           (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z');
}

static bool copy_name(const machine *m, uint64_t at, uint64_t size, char *out, size_t room)
{
    if (size == 0 || size >= room)
        return false;
    for (uint64_t i = 0; i < size; i++)
        if (!is_name_byte(m->bytes[at + i]))
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

/* A call of what the value is, with arguments. */
static void judge_call(machine *m, const value *called, const value *arguments)
{
    if (is_getattr(m, called)) {
        if (!(arguments->kind == TUPLE && arguments->holds_name))
            note(m, ASSAY_LOADING_CODE, "getattr of an object", true);
        return;
    }
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
        return (value){OTHER, 0, 0, 0, 0, false};
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
    push(m, (value){OTHER, 0, 0, 0, 0, false});
}

static void push_tuple(machine *m, size_t first)
{
    value v = {TUPLE, 0, 0, 0, 0, false};
    if (first < m->height && m->stack[first].kind == NAME) {
        v = m->stack[first];
        v.kind = TUPLE;
        v.holds_name = true;
    }
    m->height = first;
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
    for (size_t i = 0; i < count && !m->broken; i++)
        pop(m);
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
        m->broken = true;
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
        m->broken = true;
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

static uint64_t decimal_line(machine *m)
{
    uint64_t at = 0, size = 0, sum = 0;
    if (line(m, &at, &size))
        for (uint64_t i = 0; i < size && m->bytes[at + i] >= '0' && m->bytes[at + i] <= '9'; i++)
            sum = 10 * sum + (uint64_t)(m->bytes[at + i] - '0');
    return sum;
}

static int scan(const uint8_t *bytes, size_t size, uint64_t base, int depth, assay_loading *out);

/* A text or bytes; what is a pickle itself is looked at as one, for functions like torch.storage._load_from_bytes. */
static void push_text(machine *m, unsigned width)
{
    const uint64_t size = number(m, width);
    uint64_t at = 0;
    if (m->broken || !take(m, size, &at))
        return;
    push(m, (value){TEXT, at, size, 0, 0, false});
    if (assay_loading_is_pickle(m->bytes + at, (size_t)size) && m->depth < NESTED_MOST && m->status == ASSAY_OK)
        m->status = scan(m->bytes + at, (size_t)size, m->base + at, m->depth + 1, m->out);
}

/* A text in a line, within quotes or not. */
static void push_line(machine *m)
{
    uint64_t at = 0, size = 0;
    if (!line(m, &at, &size))
        return;
    if (size >= 2 && (m->bytes[at] == '\'' || m->bytes[at] == '"') && m->bytes[at + size - 1] == m->bytes[at]) {
        at++;
        size -= 2;
    }
    push(m, (value){TEXT, at, size, 0, 0, false});
}

/* ---- opcodes ---- */

static void push_global(machine *m)
{
    value v = {NAME, 0, 0, 0, 0, false};
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
        push(m, (value){RESULT, 0, 0, 0, 0, false});
        return;
    }
    const value v = {NAME, module.at, module.size, name.at, name.size, false};
    if (!is_getattr(m, &v))
        judge_name(m, &v, false);
    push(m, v);
}

static void call(machine *m, size_t arguments)
{
    value given = {OTHER, 0, 0, 0, 0, false};
    for (size_t i = 0; i < arguments; i++)
        given = pop(m);
    const value called = pop(m);
    if (m->broken)
        return;
    judge_call(m, &called, &given);
    push(m, (value){RESULT, 0, 0, 0, 0, false});
}

/* INST: the class stands in two lines, its arguments behind the mark. */
static void instantiate(machine *m)
{
    value v = {NAME, 0, 0, 0, 0, false};
    if (!line(m, &v.at, &v.size) || !line(m, &v.next, &v.more))
        return;
    const size_t first = end_mark(m);
    if (m->broken)
        return;
    push_tuple(m, first);
    const value arguments = pop(m);
    judge_call(m, &v, &arguments);
    push(m, (value){RESULT, 0, 0, 0, 0, false});
}

/* OBJ: the class is the first item behind the mark. */
static void make_object(machine *m)
{
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
    push(m, (value){RESULT, 0, 0, 0, 0, false});
}

static void build(machine *m)
{
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
    push(m, (value){RESULT, 0, 0, 0, 0, false});
}

static void end_container(machine *m)
{
    const size_t first = end_mark(m);
    if (m->broken)
        return;
    m->height = first;
    push_other(m);
}

/* Takes the items above the mark away, and leaves the container below it. */
static void fill(machine *m)
{
    const size_t first = end_mark(m);
    if (!m->broken)
        m->height = first;
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

/* False: STOP, or an opcode that nobody knows. */
static bool step(machine *m, uint8_t code)
{
    uint64_t at = 0;
    switch (code) {
    case 0x80: /* PROTO */
        return take(m, 1, &at) && m->bytes[at] <= 5;
    case 0x95: /* FRAME */
        return take(m, 8, &at);
    case '(':
        set_mark(m);
        return true;
    case '0':
        pop_one(m);
        return true;
    case '1': {
        const size_t first = end_mark(m);
        m->height = m->broken ? m->height : first;
        return true;
    }
    case '2': {
        const value top = pop(m);
        push(m, top);
        push(m, top);
        return true;
    }
    case 'N':
    case 0x88: /* NEWTRUE, NEWFALSE, EMPTY_SET */
    case 0x89:
    case 0x8f:
    case ']':
    case '}':
    case 0x97: /* NEXT_BUFFER */
        push_other(m);
        return true;
    case 0x98: /* READONLY_BUFFER */
        return true;
    case 'F':
    case 'I':
    case 'L':
        skip_line(m);
        return true;
    case 'G':
        take(m, 8, &at);
        push_other(m);
        return true;
    case 'J':
        take(m, 4, &at);
        push_other(m);
        return true;
    case 'K':
        take(m, 1, &at);
        push_other(m);
        return true;
    case 'M':
        take(m, 2, &at);
        push_other(m);
        return true;
    case 0x8a: /* LONG1 */
        take(m, number(m, 1), &at);
        push_other(m);
        return true;
    case 0x8b: /* LONG4 */
        take(m, number(m, 4), &at);
        push_other(m);
        return true;
    case 'S':
    case 'V':
        push_line(m);
        return true;
    case 'T':
    case 'X':
    case 'B':
        push_text(m, 4);
        return true;
    case 'U':
    case 'C':
    case 0x8c: /* SHORT_BINUNICODE */
        push_text(m, 1);
        return true;
    case 0x8d: /* BINUNICODE8, BINBYTES8, BYTEARRAY8 */
    case 0x8e:
    case 0x96:
        push_text(m, 8);
        return true;
    case ')':
        push(m, (value){TUPLE, 0, 0, 0, 0, false});
        return true;
    case 't': {
        const size_t first = end_mark(m);
        if (!m->broken)
            push_tuple(m, first);
        return true;
    }
    case 0x85: /* TUPLE1 .. TUPLE3 */
    case 0x86:
    case 0x87:
        push_tuple_of(m, code - 0x84u);
        return true;
    case 'l':
    case 'd':
    case 0x91: /* FROZENSET */
        end_container(m);
        return true;
    case 'a':
        drop(m, 1);
        return true;
    case 's':
        drop(m, 2);
        return true;
    case 'e':
    case 'u':
    case 0x90: /* ADDITEMS */
        fill(m);
        return true;
    case 'c':
        push_global(m);
        return true;
    case 0x93:
        push_stack_global(m);
        return true;
    case 'R':
    case 0x81: /* NEWOBJ */
        call(m, 1);
        return true;
    case 0x92: /* NEWOBJ_EX */
        call(m, 2);
        return true;
    case 'i':
        instantiate(m);
        return true;
    case 'o':
        make_object(m);
        return true;
    case 'b':
        build(m);
        return true;
    case 0x82:
    case 0x83:
        extension(m, code - 0x81u);
        return true;
    case 0x84:
        extension(m, 4);
        return true;
    case 'P':
        skip_line(m);
        return true;
    case 'Q':
        pop(m);
        push_other(m);
        return true;
    case 'q':
        memo_put(m, number(m, 1));
        return true;
    case 'r':
        memo_put(m, number(m, 4));
        return true;
    case 'p':
        memo_put(m, decimal_line(m));
        return true;
    case 0x94:
        memo_put(m, m->memoized);
        return true;
    case 'h':
        memo_get(m, number(m, 1));
        return true;
    case 'j':
        memo_get(m, number(m, 4));
        return true;
    case 'g':
        memo_get(m, decimal_line(m));
        return true;
    default:
        return false;
    }
}

static const char *name_of(uint8_t code)
{
    switch (code) {
    case 'c':
        return "GLOBAL";
    case 0x93:
        return "STACK_GLOBAL";
    case 'i':
        return "INST";
    case 'o':
        return "OBJ";
    case 'R':
        return "REDUCE";
    case 'b':
        return "BUILD";
    case 0x81:
        return "NEWOBJ";
    case 0x92:
        return "NEWOBJ_EX";
    default:
        return "EXT";
    }
}

/* One pickle. True: it came to its STOP. */
static bool run(machine *m)
{
    while (m->at < m->size && !m->broken && m->status == ASSAY_OK) {
        m->from = m->at;
        const uint8_t code = m->bytes[m->at++];
        if (code == '.')
            return m->height > 0;
        m->opcode = name_of(code);
        if (!step(m, code))
            return false;
    }
    return false;
}

/* Makes it ready for the next pickle. */
static void begin(machine *m)
{
    free(m->memo);
    m->memo = NULL;
    m->height = m->marks = m->memoized = m->memo_room = 0;
    m->broken = false;
}

static int scan(const uint8_t *bytes, size_t size, uint64_t base, int depth, assay_loading *out)
{
    machine m = {.bytes = bytes, .size = size, .base = base, .depth = depth, .out = out};
    bool going = run(&m); /* of the first one even what a loader runs before it fails counts */
    out->streams++;
    for (int more = 0; going && m.at < size && m.status == ASSAY_OK && more < STREAMS_MOST; more++) {
        const assay_loading before = *out;
        begin(&m);
        const bool sure = assay_loading_is_pickle(bytes + m.at, size - m.at);
        going = run(&m);
        if (!going && !sure) /* bytes that are no pickle: elements, padding */
            *out = before;
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
