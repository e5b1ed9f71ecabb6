/* loading.c - goes through the opcodes of pickles, and grades what they name and call. */
#include "verify/loading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verify/loading_machine.h"

/* torch before 1.6 writes five pickles behind one another; nobody loads more than STREAMS_MOST. */
enum { NESTED_MOST = 4, STREAMS_MOST = 64 };

bool assay_loading_is_pickle(const void *bytes, size_t size)
{
    const uint8_t *b = bytes;
    return size >= 2 && b[0] == 0x80 && b[1] <= 5;
}

/* ---- the stack ---- */

static void push_other(loading_machine *m)
{
    loading_push_kind(m, LOADING_OTHER);
}

/* Values that go into something else. */
static void put_away(loading_machine *m, size_t first)
{
    for (size_t i = first; i < m->height; i++)
        loading_hand_on(m, &m->stack[i].self);
    m->height = first;
}

static void push_tuple(loading_machine *m, size_t first)
{
    loading_value v = {.self.kind = LOADING_TUPLE, .count = (uint32_t)(m->height - first)};
    for (size_t i = 0; i < 2 && first + i < m->height; i++)
        v.held[i] = m->stack[first + i].self;
    put_away(m, first);
    loading_push(m, v);
}

static void push_tuple_of(loading_machine *m, size_t count)
{
    if (m->height < loading_floor(m) + count)
        m->broken = true;
    else
        push_tuple(m, m->height - count);
}

/* What stands below values that go into it; a module's own is no place for them. */
static void fill(loading_machine *m)
{
    if (m->height <= loading_floor(m))
        m->broken = true;
    else
        loading_change(m, &m->stack[m->height - 1]);
}

static void drop(loading_machine *m, size_t count)
{
    if (m->height < loading_floor(m) + count) {
        m->broken = true;
        return;
    }
    put_away(m, m->height - count);
    fill(m);
}

/* ---- bytes ---- */

static bool take(loading_machine *m, uint64_t size, uint64_t *at)
{
    if (size > m->size - m->at) {
        m->broken = m->cut = true;
        return false;
    }
    *at = m->at;
    m->at += (size_t)size;
    return true;
}

static uint64_t number(loading_machine *m, unsigned width)
{
    uint64_t at = 0, sum = 0;
    if (take(m, width, &at))
        for (unsigned i = 0; i < width; i++)
            sum |= (uint64_t)m->bytes[at + i] << 8 * i;
    return sum;
}

static bool line(loading_machine *m, uint64_t *at, uint64_t *size)
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

static void skip_line(loading_machine *m)
{
    uint64_t at = 0, size = 0;
    line(m, &at, &size);
    push_other(m);
}

/* A slot of the memo in digits. Python reads "+1", " 1" and "1_0" as well, which only who hides something writes. */
static uint64_t decimal_line(loading_machine *m)
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
        loading_note(m, ASSAY_LOADING_CODE, "a slot of the memo that is no plain number", false);
    m->broken = m->broken || !plain;
    return sum;
}

/* A text or bytes; what is a pickle itself is looked at as one, for functions like torch.storage._load_from_bytes. */
static void push_text(loading_machine *m, unsigned width)
{
    const uint64_t size = number(m, width);
    uint64_t at = 0;
    if (m->broken || !take(m, size, &at))
        return;
    loading_push(m, (loading_value){.self = {LOADING_TEXT, false, (uint32_t)at, (uint32_t)size}});
    if (!assay_loading_is_pickle(m->bytes + at, (size_t)size) || m->status != ASSAY_OK)
        return;
    if (m->depth > NESTED_MOST)
        return;
    if (m->depth == NESTED_MOST)
        m->status = loading_hunt(m->bytes + at, (size_t)size, m->base + at, m->most / 2, m->out);
    else
        m->status = loading_scan(m->bytes + at, (size_t)size, m->base + at, m->depth + 1, m->most / 2, m->out);
}

/* A text in a line. What has a backslash in it is another text once it is loaded. */
static void push_line(loading_machine *m, bool quoted)
{
    uint64_t at = 0, size = 0;
    if (!line(m, &at, &size))
        return;
    if (quoted && size >= 2 && (m->bytes[at] == '\'' || m->bytes[at] == '"') &&
        m->bytes[at + size - 1] == m->bytes[at]) {
        at++;
        size -= 2;
    }
    const bool escaped = memchr(m->bytes + at, '\\', (size_t)size);
    loading_push(m, (loading_value){.self = {quoted && escaped ? LOADING_OTHER : LOADING_TEXT, escaped, (uint32_t)at,
                                             (uint32_t)size}});
}

/* ---- opcodes ---- */

static bool take_name(loading_machine *m, loading_value *v)
{
    uint64_t at = 0, size = 0, next = 0, more = 0;
    if (!line(m, &at, &size) || !line(m, &next, &more))
        return false;
    *v = loading_name_of(m, at, size, next, more);
    return true;
}

static void push_global(loading_machine *m)
{
    loading_value v;
    if (take_name(m, &v))
        loading_push(m, v);
}

static void push_stack_global(loading_machine *m)
{
    const loading_item name = loading_pop(m).self, module = loading_pop(m).self;
    if (m->broken)
        return;
    if (name.kind != LOADING_TEXT || module.kind != LOADING_TEXT || name.escaped || module.escaped) {
        loading_note(m, ASSAY_LOADING_CODE, "a name that is put together while it is loaded", false);
        loading_push_kind(m, LOADING_RESULT);
        return;
    }
    loading_push(m, loading_name_of(m, module.at, module.size, name.at, name.size));
}

static void call(loading_machine *m, size_t arguments)
{
    loading_value given = {.self.kind = LOADING_OTHER};
    for (size_t i = 0; i < arguments; i++)
        given = loading_pop(m);
    const loading_value called = loading_pop(m);
    if (!m->broken)
        loading_push(m, loading_call(m, &called, &given));
}

/* INST: the class stands in two lines, its arguments behind the mark. */
static void do_instance(loading_machine *m, size_t unused)
{
    (void)unused;
    loading_value v;
    if (!take_name(m, &v))
        return;
    const size_t first = loading_end_mark(m);
    if (m->broken)
        return;
    push_tuple(m, first);
    const loading_value arguments = loading_pop(m);
    loading_push(m, loading_call(m, &v, &arguments));
}

/* OBJ: the class is the first item behind the mark. */
static void do_object(loading_machine *m, size_t unused)
{
    (void)unused;
    const size_t first = loading_end_mark(m);
    if (m->broken || first >= m->height) {
        m->broken = true;
        return;
    }
    const loading_value called = m->stack[first];
    push_tuple(m, first + 1);
    const loading_value arguments = loading_pop(m);
    m->height = first;
    loading_push(m, loading_call(m, &called, &arguments));
}

static void do_build(loading_machine *m, size_t unused)
{
    (void)unused;
    loading_pop(m);
    if (!m->broken)
        fill(m);
}

static void extension(loading_machine *m, unsigned width)
{
    char name[64];
    snprintf(name, sizeof name, "extension %llu of the registry", (unsigned long long)number(m, width));
    if (!m->broken)
        loading_note(m, ASSAY_LOADING_CLASSES, name, false);
    loading_push_kind(m, LOADING_RESULT);
}

static void do_container(loading_machine *m, size_t unused)
{
    (void)unused;
    const size_t first = loading_end_mark(m);
    if (m->broken)
        return;
    put_away(m, first);
    push_other(m);
}

/* Takes the items above the mark away, and leaves the container below it. */
static void do_fill(loading_machine *m, size_t unused)
{
    (void)unused;
    const size_t first = loading_end_mark(m);
    if (m->broken)
        return;
    put_away(m, first);
    fill(m);
}

static void pop_one(loading_machine *m)
{
    if (m->height == loading_floor(m) && m->marks > 0)
        loading_end_mark(m);
    else
        loading_pop(m);
}

/* ---- what each opcode does, with a number of the table below ---- */

static void do_protocol(loading_machine *m, size_t most)
{
    uint64_t at = 0;
    m->broken = !take(m, 1, &at) || m->bytes[at] > most;
}

static void do_skip(loading_machine *m, size_t bytes)
{
    uint64_t at = 0;
    take(m, bytes, &at);
}

/* A number of so many bytes, or something of none. */
static void do_value(loading_machine *m, size_t bytes)
{
    do_skip(m, bytes);
    push_other(m);
}

/* An integer whose length comes first. */
static void do_long(loading_machine *m, size_t width)
{
    uint64_t at = 0;
    take(m, number(m, (unsigned)width), &at);
    push_other(m);
}

static void do_line(loading_machine *m, size_t unused)
{
    (void)unused;
    skip_line(m);
}

static void do_text(loading_machine *m, size_t width)
{
    push_text(m, (unsigned)width);
}

static void do_quoted(loading_machine *m, size_t unused)
{
    (void)unused;
    push_line(m, true);
}

static void do_unquoted(loading_machine *m, size_t unused)
{
    (void)unused;
    push_line(m, false);
}

static void do_tuple(loading_machine *m, size_t items)
{
    push_tuple_of(m, items);
}

static void do_marked_tuple(loading_machine *m, size_t unused)
{
    (void)unused;
    const size_t first = loading_end_mark(m);
    if (!m->broken)
        push_tuple(m, first);
}

static void do_mark(loading_machine *m, size_t unused)
{
    (void)unused;
    loading_set_mark(m);
}

static void do_pop(loading_machine *m, size_t unused)
{
    (void)unused;
    pop_one(m);
}

static void do_pop_mark(loading_machine *m, size_t unused)
{
    (void)unused;
    const size_t first = loading_end_mark(m);
    m->height = m->broken ? m->height : first;
}

static void do_again(loading_machine *m, size_t unused)
{
    (void)unused;
    const loading_value top = loading_pop(m);
    loading_push(m, top);
    loading_push(m, top);
}

static void do_drop(loading_machine *m, size_t items)
{
    drop(m, items);
}

static void do_global(loading_machine *m, size_t unused)
{
    (void)unused;
    push_global(m);
}

static void do_stack_global(loading_machine *m, size_t unused)
{
    (void)unused;
    push_stack_global(m);
}

static void do_extension(loading_machine *m, size_t width)
{
    extension(m, (unsigned)width);
}

static void do_persistent(loading_machine *m, size_t unused)
{
    (void)unused;
    loading_pop(m);
    push_other(m);
}

/* Of no bytes: the slot stands in a line. */
static void do_put(loading_machine *m, size_t width)
{
    loading_memo_put(m, width ? number(m, (unsigned)width) : decimal_line(m));
}

static void do_memoize(loading_machine *m, size_t unused)
{
    (void)unused;
    loading_memo_put(m, m->memoized);
}

static void do_get(loading_machine *m, size_t width)
{
    loading_memo_get(m, width ? number(m, (unsigned)width) : decimal_line(m));
}

/* Names are kept of those that may name or call something. */
static const struct opcode {
    uint8_t code;
    uint8_t number;
    void (*run)(loading_machine *m, size_t number);
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
    {'S', 0, do_quoted, NULL},       {'V', 0, do_unquoted, NULL},
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
static bool run(loading_machine *m)
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
static void begin(loading_machine *m)
{
    free(m->memo);
    m->memo = NULL;
    m->height = m->marks = m->memo_room = m->kept = 0;
    m->memoized = m->dense = 0;
    m->broken = m->cut = m->found = false;
    m->sure = assay_loading_is_pickle(m->bytes + m->at, m->size - m->at);
}

int loading_scan(const uint8_t *bytes, size_t size, uint64_t base, int depth, size_t most, assay_loading *out)
{
    loading_machine m = {.bytes = bytes, .size = size, .base = base, .depth = depth, .most = most, .out = out};
    bool going = true;
    m.names = assay_dict_new();
    m.status = m.names ? ASSAY_OK : ASSAY_ENOMEM;
    if (size > UINT32_MAX) {
        m.size = UINT32_MAX;
        out->full = true;
    }
    for (int i = 0; going && (i == 0 || m.at < m.size) && m.status == ASSAY_OK && i < STREAMS_MOST; i++) {
        const assay_loading before = *out;
        begin(&m);
        going = run(&m);
        if (depth == 0 && (going || i == 0)) {
            out->end = m.at;
            out->broken = !going && m.sure && !m.cut;
        }
        /* Of what breaks off even what a loader runs before it fails counts. Bytes that do not say that they are a pickle,
         * and break off, are elements or padding, unless they name what runs code, as those do by no accident. */
        if (going || m.sure || m.found) {
            out->cut = m.cut;
        } else {
            const bool full = out->full;
            const uint64_t end = out->end;
            *out = before;
            out->full = full;
            out->end = end;
        }
        out->streams += going || i == 0;
    }
    loading_release(&m);
    return m.status;
}

int assay_loading_scan(const void *bytes, size_t size, size_t most, assay_loading *out)
{
    return loading_scan(bytes, size, 0, 0, most, out);
}

/* ---- pickles of which nobody knows where they begin ---- */

enum { HUNTED_MOST = 128 };

/* The bytes of a name, up to `end` or of a length; 0: they are none. */
static size_t copy_hunted(const uint8_t *bytes, size_t size, int end, size_t length, char *out)
{
    size_t n = 0;
    for (; n < size && n < HUNTED_MOST && (end < 0 ? n < length : bytes[n] != end); n++) {
        const uint8_t b = bytes[n];
        const bool inside =
            b == '_' || b == '.' || (b >= '0' && b <= '9') || (b >= 'a' && b <= 'z') || (b >= 'A' && b <= 'Z');
        if (!inside)
            return 0;
        out[n] = (char)b;
    }
    out[n] = '\0';
    return n < size && n < HUNTED_MOST ? n : 0;
}

/* A text of SHORT_BINUNICODE or BINUNICODE with what puts it into the memo: how many bytes; 0: there is none. */
static size_t take_hunted(const uint8_t *bytes, size_t size, char *out)
{
    const size_t head = size > 6 && bytes[0] == 0x8c ? 2 : size > 6 && bytes[0] == 'X' ? 5 : 0;
    const size_t length = head == 0 || (head == 5 && (bytes[2] || bytes[3] || bytes[4])) ? 0 : bytes[1];
    size_t at = head + length;
    if (length == 0 || copy_hunted(bytes + head, size - head, -1, length, out) != length || at >= size)
        return 0;
    at += bytes[at] == 0x94 ? 1 : bytes[at] == 'q' ? 2 : bytes[at] == 'r' ? 5 : 0;
    return at < size ? at : 0;
}

/* Do opcodes begin here that name what runs code? */
static bool names_code(const uint8_t *bytes, size_t size)
{
    char module[HUNTED_MOST + 1], name[HUNTED_MOST + 1];
    size_t first = 0, second = 0;
    if (bytes[0] == 'c' || bytes[0] == 'i') {
        first = copy_hunted(bytes + 1, size - 1, '\n', 0, module);
        second = first ? copy_hunted(bytes + first + 2, size - first - 2, '\n', 0, name) : 0;
    } else if (bytes[0] == 0x8c || bytes[0] == 'X') {
        first = take_hunted(bytes, size, module);
        second = first ? take_hunted(bytes + first, size - first, name) : 0;
        second = second && bytes[first + second] == 0x93 ? second : 0;
    }
    return second > 0 && assay_loading_grade_of(module, name, false) == ASSAY_LOADING_CODE;
}

int loading_hunt(const uint8_t *bytes, size_t size, uint64_t base, size_t most, assay_loading *out)
{
    for (size_t at = 0; at < size; at++)
        if (names_code(bytes + at, size - at)) {
            loading_machine m = {.bytes = bytes,
                                 .size = size,
                                 .base = base,
                                 .at = at,
                                 .most = most,
                                 .depth = NESTED_MOST + 1,
                                 .out = out};
            m.names = assay_dict_new();
            m.status = m.names ? ASSAY_OK : ASSAY_ENOMEM;
            begin(&m);
            run(&m);
            const bool found = m.found;
            const int status = m.status;
            loading_release(&m);
            if (found || status != ASSAY_OK)
                return status;
        }
    return ASSAY_OK;
}

int assay_loading_hunt(const void *bytes, size_t size, size_t most, assay_loading *out)
{
    return loading_hunt(bytes, size, 0, most, out);
}
