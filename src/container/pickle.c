/* pickle.c - the machine: one opcode after the other. No function calls itself, whatever the pickle's nesting is. */
#include "container/pickle.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "container/pickle_stack.h"

/* RECORD_MOST: offsets in nodes have 32 bits. TEXT_MOST: nothing that readers look for is near it. LINE_MOST: names
 * of functions have some hundred bytes. */
enum { RECORD_MOST = 1 << 30, TEXT_MOST = 64 << 20, STREAMED_TEXT_MOST = 16 << 20, LINE_MOST = 4096 };

typedef enum opcode {
    MARK = '(',
    STOP = '.',
    POP = '0',
    POP_MARK = '1',
    DUP = '2',
    BINFLOAT = 'G',
    BININT = 'J',
    BININT1 = 'K',
    BININT2 = 'M',
    NONE = 'N',
    BINPERSID = 'Q',
    REDUCE = 'R',
    BINUNICODE = 'X',
    APPEND = 'a',
    BUILD = 'b',
    GLOBAL = 'c',
    APPENDS = 'e',
    BINGET = 'h',
    LONG_BINGET = 'j',
    BINPUT = 'q',
    LONG_BINPUT = 'r',
    SETITEM = 's',
    TUPLE = 't',
    SETITEMS = 'u',
    EMPTY_LIST = ']',
    EMPTY_TUPLE = ')',
    EMPTY_DICT = '}',
    BINBYTES = 'B',
    SHORT_BINBYTES = 'C',
    PROTO = 0x80,
    NEWOBJ = 0x81,
    TUPLE1 = 0x85,
    TUPLE2 = 0x86,
    TUPLE3 = 0x87,
    NEWTRUE = 0x88,
    NEWFALSE = 0x89,
    LONG1 = 0x8a,
    SHORT_BINUNICODE = 0x8c,
    BINUNICODE8 = 0x8d,
    BINBYTES8 = 0x8e,
    EMPTY_SET = 0x8f,
    ADDITEMS = 0x90,
    FROZENSET = 0x91,
    NEWOBJ_EX = 0x92,
    STACK_GLOBAL = 0x93,
    MEMOIZE = 0x94,
    FRAME = 0x95,
    BYTEARRAY8 = 0x96
} opcode;

/* Opcodes of protocols 0 and 1, of extension registries, and of buffers outside the pickle: no writer of the files
 * that are read here emits them. */
static const struct {
    uint8_t code;
    const char *name;
} refused[] = {{'F', "FLOAT"},
               {'I', "INT"},
               {'L', "LONG"},
               {'P', "PERSID"},
               {'S', "STRING"},
               {'T', "BINSTRING"},
               {'U', "SHORT_BINSTRING"},
               {'V', "UNICODE"},
               {'d', "DICT"},
               {'g', "GET"},
               {'i', "INST"},
               {'l', "LIST"},
               {'o', "OBJ"},
               {'p', "PUT"},
               {0x82, "EXT1"},
               {0x83, "EXT2"},
               {0x84, "EXT4"},
               {0x8b, "LONG4"},
               {0x97, "NEXT_BUFFER"},
               {0x98, "READONLY_BUFFER"}};

/* ---- bytes ---- */

/* Has the window hold so many bytes, or all that are left. Streaming only. Pointers into the window, such as what
 * take() returned before, are void behind this call. */
static bool fetch(assay_pickle_machine *m, uint64_t size)
{
    if (!m->feed || size <= m->size - m->at)
        return true;
    const size_t used = m->at;
    const int status = m->feed->more(m->feed->context, used, (size_t)size, &m->in, &m->size, m->err);
    m->base += used;
    m->at = 0;
    if (status != ASSAY_OK && m->status == ASSAY_OK)
        m->status = status;
    return status == ASSAY_OK;
}

static const uint8_t *take(assay_pickle_machine *m, uint64_t size)
{
    if (size > m->size - m->at && (!fetch(m, size) || size > m->size - m->at)) {
        assay_pickle_refuse(m, "the pickle ends within an opcode");
        return NULL;
    }
    /* Valid until the next take(): handlers use what they took before they take more. */
    const uint8_t *bytes = m->in + m->at;
    m->at += (size_t)size;
    return bytes;
}

/* A number of so many bytes, little-endian. */
static bool take_number(assay_pickle_machine *m, unsigned width, uint64_t *out)
{
    const uint8_t *bytes = take(m, width);
    *out = 0;
    for (unsigned i = 0; bytes && i < width; i++)
        *out |= (uint64_t)bytes[i] << 8 * i;
    return bytes != NULL;
}

/* ---- what opcodes do ---- */

/* `size` is a stranger's: it is bounded before it is taken, and take() finds out whether the bytes are there. */
static bool put_text(assay_pickle_machine *m, assay_pickle_kind kind, unsigned width)
{
    uint64_t size = 0;
    if (!take_number(m, width, &size))
        return false;
    if (size > (m->feed ? STREAMED_TEXT_MOST : TEXT_MOST))
        return assay_pickle_refuse(m, m->feed ? "a text of more than 16 MiB" : "a text of more than 64 MiB");
    const uint8_t *bytes = take(m, size);
    uint32_t at = 0;
    return bytes && assay_pickle_keep_text(m, bytes, (size_t)size, &at) &&
           assay_pickle_push_new(m, (assay_pickle_node){.kind = (uint8_t)kind, .a = at, .size = size});
}

static bool put_integer(assay_pickle_machine *m, unsigned width, bool is_signed)
{
    uint64_t value = 0;
    if (!take_number(m, width, &value))
        return false;
    /* Sign extension for four bytes; numbers of one and two bytes have no sign. */
    int64_t integer = is_signed ? (int32_t)(uint32_t)value : (int64_t)value;
    return assay_pickle_push_new(m, (assay_pickle_node){.kind = ASSAY_PICKLE_INT, .integer = integer});
}

static bool put_small(assay_pickle_machine *m)
{
    const uint8_t *byte = take(m, 1);
    return byte && assay_pickle_push_small(m, *byte);
}

/* An integer of any length in two's complement. */
static bool put_long(assay_pickle_machine *m)
{
    uint64_t size = 0, value = 0;
    if (!take_number(m, 1, &size))
        return false;
    const uint8_t *bytes = take(m, size);
    if (!bytes)
        return false;
    if (size > 8 && m->feed)
        return assay_pickle_refuse(m, "an integer of more than 8 bytes");
    if (size > 8)
        return assay_pickle_push_new(m, (assay_pickle_node){.kind = ASSAY_PICKLE_HUGE});
    /* Sign extension for up to eight bytes. */
    if (size > 0 && bytes[size - 1] & 0x80)
        value = UINT64_MAX;
    for (size_t i = size; i-- > 0;)
        value = value << 8 | bytes[i];
    return assay_pickle_push_new(m, (assay_pickle_node){.kind = ASSAY_PICKLE_INT, .integer = (int64_t)value});
}

static bool put_float(assay_pickle_machine *m)
{
    const uint8_t *bytes = take(m, 8);
    uint64_t bits = 0;
    assay_pickle_node node = {.kind = ASSAY_PICKLE_FLOAT};
    /* The only number of a pickle whose most significant byte comes first. */
    for (size_t i = 0; bytes && i < 8; i++)
        bits = bits << 8 | bytes[i];
    memcpy(&node.number, &bits, sizeof bits);
    return bytes && assay_pickle_push_new(m, node);
}

/* A line of GLOBAL, without its end. */
static bool take_line(assay_pickle_machine *m, uint32_t *at, uint32_t *size)
{
    if (!fetch(m, LINE_MOST))
        return false;
    const size_t left = m->size - m->at, most = left < LINE_MOST ? left : LINE_MOST;
    const uint8_t *line = m->in + m->at, *end = most ? memchr(line, '\n', most) : NULL;
    if (!end)
        return assay_pickle_refuse(m, "a name without its end, or of more than 4096 bytes");
    *size = (uint32_t)(end - line);
    m->at += *size + 1u;
    return assay_pickle_keep_text(m, line, *size, at);
}

static bool put_global(assay_pickle_machine *m)
{
    uint32_t module = 0, module_size = 0, name = 0, name_size = 0;
    if (!take_line(m, &module, &module_size) || !take_line(m, &name, &name_size))
        return false;
    return assay_pickle_push_new(
        m,
        (assay_pickle_node){.kind = ASSAY_PICKLE_GLOBAL, .a = module, .b = module_size, .c = name, .size = name_size});
}

static bool put_stack_global(assay_pickle_machine *m)
{
    uint32_t name = 0, module = 0;
    if (!assay_pickle_pop(m, &name) || !assay_pickle_pop(m, &module))
        return false;
    const assay_pickle_node n = *assay_pickle_node_of(m, name), of = *assay_pickle_node_of(m, module);
    if (n.kind != ASSAY_PICKLE_TEXT || of.kind != ASSAY_PICKLE_TEXT)
        return assay_pickle_refuse(m, "the name of a function is not a text");
    return assay_pickle_push_new(
        m,
        (assay_pickle_node){.kind = ASSAY_PICKLE_GLOBAL, .a = of.a, .b = (uint32_t)of.size, .c = n.a, .size = n.size});
}

/* A call or object of what stands below a tuple of arguments, and below that keywords where there are some. */
static bool put_call(assay_pickle_machine *m, assay_pickle_kind kind, bool keywords)
{
    uint32_t words = ASSAY_PICKLE_NOTHING, arguments = 0, called = 0;
    if ((keywords && !assay_pickle_pop(m, &words)) || !assay_pickle_pop(m, &arguments) || !assay_pickle_pop(m, &called))
        return false;
    if (assay_pickle_node_of(m, arguments)->kind != ASSAY_PICKLE_TUPLE)
        return assay_pickle_refuse(m, "the arguments of a call are not a tuple");
    /* The new node is pushed first: `called` and `arguments` stay alive, since nodes are not freed by popping. */
    if (!assay_pickle_push_container(m, kind))
        return false;
    const uint32_t number = m->stack[m->height - 1];
    assay_pickle_node_of(m, number)->a = called;
    assay_pickle_node_of(m, number)->b = arguments;
    return assay_pickle_hold(m, number, called) && assay_pickle_hold(m, number, arguments) &&
           (!keywords || assay_pickle_add_item(m, number, ASSAY_PICKLE_NOTHING, words));
}

/* Serves frozen sets as well, whose items are put together the same way. */
static bool put_tuple(assay_pickle_machine *m, assay_pickle_kind kind, size_t first)
{
    const size_t last = m->height;
    if (!assay_pickle_push_container(m, kind))
        return false;
    const uint32_t number = m->stack[m->height - 1];
    /* The items lie in [first, last) of the stack, and the tuple above them until they are taken. */
    for (size_t i = first; i < last; i++)
        if (!assay_pickle_add_item(m, number, ASSAY_PICKLE_NOTHING, m->stack[i]))
            return false;
    m->height = first;
    return assay_pickle_push(m, number);
}

static bool put_persistent(assay_pickle_machine *m)
{
    uint32_t id = 0;
    if (!assay_pickle_pop(m, &id) ||
        !assay_pickle_push_new(m, (assay_pickle_node){.kind = ASSAY_PICKLE_PERSISTENT, .a = id}))
        return false;
    return assay_pickle_hold(m, m->stack[m->height - 1], id);
}

/* ---- the list that is handed out ---- */

/* Is the list that is handed out the container below `first`? Conditions for a list whose items are handed out: it
 * lies directly in the root dict, under the feed's key, at the bottom of the stack. Anything else is read as a
 * whole. */
static bool is_handed(const assay_pickle_machine *m, size_t first)
{
    const assay_pickle_handed *h = &m->handed;
    return m->feed && h->list != ASSAY_PICKLE_NOTHING && first == h->height && m->marks == h->marks &&
           m->stack[first - 1] == h->list;
}

/* A new list is on the stack. Is it the root's under the key? */
static void notice_list(assay_pickle_machine *m)
{
    const size_t at = m->height - 1; /* root [mark] key value ... key list */
    if (!m->feed || at < 2 || m->marks > 1 || at % 2 != 0 || (m->marks == 1 ? m->mark[0] != 1 : at != 2) ||
        assay_pickle_node_of(m, m->stack[0])->kind != ASSAY_PICKLE_DICT ||
        !assay_pickle_is_text(&m->out, m->stack[at - 1], m->feed->key))
        return;
    m->handed = (assay_pickle_handed){.list = m->stack[at], .height = m->height, .marks = m->marks};
    m->feed->begin(m->feed->context);
}

static bool taken(assay_pickle_machine *m, bool good)
{
    m->given = true;
    if (good)
        return true;
    m->status = m->status == ASSAY_OK ? ASSAY_EFORMAT : m->status;
    return false;
}

/* The items above the list are handed out instead of put into it. */
static bool hand_out(assay_pickle_machine *m, size_t first)
{
    /* An item that is the root itself would be handed out before the root is whole. */
    for (size_t i = first; i < m->height; i++)
        if (m->stack[i] == m->stack[0])
            return assay_pickle_refuse(m, "an item of its list is the whole");
        else if (!taken(m, m->feed->item(m->feed->context, &m->out, m->stack[i], NULL, 0)))
            return false;
    m->height = first;
    m->handed.pinned = m->handed.pinned || m->handed.left;
    m->handed.left = false;
    assay_pickle_drop_item(m);
    m->handed.seen = m->out.nodes;
    return true;
}

/* Hands out items of known forms, the first of which has begun, and the following ones: no node is made of them.
 * *map: an EMPTY_DICT was taken that is of no known form, and the machine goes on with it. */
static bool hand_out_alike(assay_pickle_machine *m, bool *map)
{
    assay_pickle_number number[ASSAY_PICKLE_FORM_HOLES];
    const assay_pickle_form *form = NULL;
    for (;;) {
        if (m->size - m->at <= ASSAY_PICKLE_FORM_MOST && !fetch(m, ASSAY_PICKLE_FORM_MOST + 1))
            return false;
        const size_t left = m->size - m->at;
        const size_t length = assay_pickle_forms_match(m, m->in + m->at, left, number, &form);
        const uint8_t next = length > 0 && length < left ? m->in[m->at + length] : 0;
        /* What follows has to be another map or the list's end: an opcode that changes the item afterwards, such as
         * BUILD, would make the match wrong. */
        if ((next != EMPTY_DICT && next != APPENDS) || m->made + form->made > ASSAY_PICKLE_STREAMED)
            return true;
        m->made += form->made;
        if (!taken(m, m->feed->again(m->feed->context, form->name, number)))
            return false;
        m->at += length + (next == EMPTY_DICT);
        if (next == APPENDS) {
            *map = false;
            return true;
        }
    }
}

/* Is the machine where an item of the list begins or ends, with so much above the list? */
static bool is_at_item(const assay_pickle_machine *m, size_t above)
{
    const assay_pickle_handed *h = &m->handed;
    return m->feed && h->list != ASSAY_PICKLE_NOTHING && m->height == h->height + above && !h->left &&
           m->marks == h->marks + 1 && m->mark[m->marks - 1] == h->height && m->stack[h->height - 1] == h->list;
}

/* An item of the list begins: a map in the list's place on the stack. */
static bool begin_map(assay_pickle_machine *m)
{
    assay_pickle_handed *h = &m->handed;
    bool map = true;
    if (m->feed && m->feed->again && is_at_item(m, 0) && !hand_out_alike(m, &map))
        return false;
    if (!map)
        return true;
    if (m->feed && h->list != ASSAY_PICKLE_NOTHING && m->height == h->height && !h->left &&
        m->stack[h->height - 1] == h->list) {
        /* Noted where the item begins, so that end_map() can drop all that it made. */
        h->begin = m->base + m->at;
        h->made = m->made;
        h->nodes = m->out.nodes;
        h->items = m->out.items;
        h->text = m->text_size;
        h->puts = 0;
        h->pinned = false;
    }
    return assay_pickle_push_container(m, ASSAY_PICKLE_DICT);
}

/* The form of the item that ends here; NULL: none. */
static const assay_pickle_form *learn_item(assay_pickle_machine *m)
{
    const assay_pickle_handed *h = &m->handed;
    /* The window still has the item's first byte, nothing outside holds a part of it, and it filled no memo slot:
     * only then its bytes alone say what it means. */
    if (!m->feed->again || h->begin < m->base || h->pinned || h->puts > 0)
        return NULL;
    return assay_pickle_forms_learn(m, m->in + (h->begin - m->base), (size_t)(m->base + m->at - h->begin),
                                    (uint32_t)(m->made - h->made));
}

/* A map was filled. Where it is an item of the list and another one follows, it is done. */
static bool end_map(assay_pickle_machine *m)
{
    assay_pickle_handed *h = &m->handed;
    if (!is_at_item(m, 1))
        return true;
    /* An item that is not the map which began here, such as one from the memo, is left to hand_out(). */
    h->left = h->nodes == 0 || m->stack[h->height] != h->nodes;
    const assay_pickle_form *form = h->left ? NULL : learn_item(m);
    if (!fetch(m, 1))
        return false;
    const uint8_t next = m->at < m->size ? m->in[m->at] : 0;
    h->left = h->left || (next != EMPTY_DICT && next != APPENDS);
    if (h->left) {
        assay_pickle_forms_forget(&m->forms);
        return true;
    }
    uint32_t name = form ? form->name : ASSAY_PICKLE_NOTHING;
    if (!taken(m, m->feed->item(m->feed->context, &m->out, m->stack[h->height], form ? &name : NULL,
                                form ? form->nested : 0)))
        return false;
    if (form && name == ASSAY_PICKLE_NOTHING)
        assay_pickle_forms_drop(&m->forms, form);
    m->height = h->height;
    assay_pickle_drop_item(m);
    m->handed.seen = m->out.nodes;
    return true;
}

/* The container on top of the stack takes the items above it, [first, height). Lists and sets take them one by one,
 * pairs two by two. What a call of unknown meaning is given as items is dropped. */
static bool fill(assay_pickle_machine *m, size_t first, assay_pickle_kind kind)
{
    if (first == 0 || first - 1 < assay_pickle_floor(m))
        return assay_pickle_refuse(m, "the stack has too few items for this opcode");
    const uint32_t holder = m->stack[first - 1];
    if (kind == ASSAY_PICKLE_LIST && is_handed(m, first))
        return hand_out(m, first);
    const unsigned own = assay_pickle_node_of(m, holder)->kind;
    const bool called = own == ASSAY_PICKLE_CALL || own == ASSAY_PICKLE_OBJECT, pairs = kind == ASSAY_PICKLE_DICT;
    if (own != kind && !(called && kind != ASSAY_PICKLE_SET))
        return assay_pickle_refuse(m, "items are added to what cannot have them");
    if (pairs && (m->height - first) % 2 != 0)
        return assay_pickle_refuse(m, "a key without a value");
    /* Keys that Python cannot hash make a dict that no Python wrote. */
    for (size_t i = first; i < m->height && pairs; i += 2) {
        const unsigned key = assay_pickle_node_of(m, m->stack[i])->kind;
        if (key == ASSAY_PICKLE_LIST || key == ASSAY_PICKLE_DICT || key == ASSAY_PICKLE_SET)
            return assay_pickle_refuse(m, "a key is a list, a set or a map");
    }
    /* What a call is given as list items is dropped: what the call returns is not known, so no reader asks for it. */
    for (size_t i = first; i < m->height && !(called && !pairs); i += pairs ? 2 : 1)
        if (!assay_pickle_add_item(m, holder, pairs ? m->stack[i] : ASSAY_PICKLE_NOTHING, m->stack[pairs ? i + 1 : i]))
            return false;
    m->height = first;
    return true;
}

static bool fill_from_mark(assay_pickle_machine *m, assay_pickle_kind kind)
{
    size_t first = 0;
    return assay_pickle_pop_mark(m, &first) && fill(m, first, kind);
}

static bool set_state(assay_pickle_machine *m)
{
    uint32_t state = 0;
    if (!assay_pickle_pop(m, &state) || !assay_pickle_need(m, 1))
        return false;
    const uint32_t holder = m->stack[m->height - 1];
    const unsigned kind = assay_pickle_node_of(m, holder)->kind;
    if (kind != ASSAY_PICKLE_CALL && kind != ASSAY_PICKLE_OBJECT && kind != ASSAY_PICKLE_DICT)
        return assay_pickle_refuse(m, "a state is given to what cannot have one");
    /* BUILD on a dict: state_dict objects have attributes beside their items. */
    assay_pickle_node_of(m, holder)->c = state;
    return assay_pickle_hold(m, holder, state);
}

/* ---- the memo ---- */

static bool memo_get_at(assay_pickle_machine *m, unsigned width)
{
    uint64_t slot = 0;
    return take_number(m, width, &slot) && assay_pickle_memo_get(m, slot);
}

static bool memo_put_at(assay_pickle_machine *m, unsigned width)
{
    uint64_t slot = 0;
    return take_number(m, width, &slot) && assay_pickle_memo_put(m, slot);
}

/* ---- the machine ---- */

static bool drop_top(assay_pickle_machine *m)
{
    uint32_t dropped = 0;
    size_t first = 0;
    /* POP takes a mark away where nothing lies above it, as Python's machine does. */
    return m->height == assay_pickle_floor(m) && m->marks > 0 ? assay_pickle_pop_mark(m, &first)
                                                              : assay_pickle_pop(m, &dropped);
}

static bool check_protocol(assay_pickle_machine *m)
{
    const uint8_t *version = take(m, 1);
    return version && (*version >= 2 && *version <= 5 ? true : assay_pickle_refuse(m, "a protocol other than 2 to 5"));
}

static bool refuse_opcode(assay_pickle_machine *m, uint8_t code)
{
    const char *name = "an opcode that nobody knows";
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        name = refused[i].code == code ? refused[i].name : name;
    m->status = assay_fail(m->err, ASSAY_EFORMAT, "offset %llu: opcode 0x%02x (%s) is not read",
                           (unsigned long long)m->from, code, name);
    return false;
}

static bool run_opcode(assay_pickle_machine *m, uint8_t code)
{
    size_t first = 0;
    switch (code) {
    case PROTO:
        return check_protocol(m);
    case FRAME:
        /* FRAME says how many bytes follow for a reader that buffers; nothing depends on it here. */
        return take(m, 8) != NULL;
    case MARK:
        return assay_pickle_set_mark(m);
    case POP:
        return drop_top(m);
    case POP_MARK:
        return assay_pickle_pop_mark(m, &m->height);
    case DUP:
        return assay_pickle_need(m, 1) && assay_pickle_push(m, m->stack[m->height - 1]);
    case NONE:
        return assay_pickle_push_new(m, (assay_pickle_node){.kind = ASSAY_PICKLE_NONE});
    case NEWTRUE:
    case NEWFALSE:
        return assay_pickle_push_new(m, (assay_pickle_node){.kind = ASSAY_PICKLE_BOOL, .integer = code == NEWTRUE});
    case BININT:
        return put_integer(m, 4, true);
    case BININT1:
        return put_small(m);
    case BININT2:
        return put_integer(m, 2, false);
    case LONG1:
        return put_long(m);
    case BINFLOAT:
        return put_float(m);
    case SHORT_BINUNICODE:
        return put_text(m, ASSAY_PICKLE_TEXT, 1);
    case BINUNICODE:
        return put_text(m, ASSAY_PICKLE_TEXT, 4);
    case BINUNICODE8:
        return put_text(m, ASSAY_PICKLE_TEXT, 8);
    case SHORT_BINBYTES:
        return put_text(m, ASSAY_PICKLE_BYTES, 1);
    case BINBYTES:
        return put_text(m, ASSAY_PICKLE_BYTES, 4);
    case BINBYTES8:
    case BYTEARRAY8:
        return put_text(m, ASSAY_PICKLE_BYTES, 8);
    case EMPTY_TUPLE:
        return assay_pickle_push_container(m, ASSAY_PICKLE_TUPLE);
    case TUPLE:
        return assay_pickle_pop_mark(m, &first) && put_tuple(m, ASSAY_PICKLE_TUPLE, first);
    case TUPLE1:
    case TUPLE2:
    case TUPLE3:
        first = (size_t)code - TUPLE1 + 1;
        return assay_pickle_need(m, first) && put_tuple(m, ASSAY_PICKLE_TUPLE, m->height - first);
    case EMPTY_LIST:
        if (!assay_pickle_push_container(m, ASSAY_PICKLE_LIST))
            return false;
        notice_list(m);
        return true;
    case APPEND:
        return assay_pickle_need(m, 2) && fill(m, m->height - 1, ASSAY_PICKLE_LIST);
    case APPENDS:
        return fill_from_mark(m, ASSAY_PICKLE_LIST);
    case EMPTY_DICT:
        return begin_map(m);
    case SETITEM:
        return assay_pickle_need(m, 3) && fill(m, m->height - 2, ASSAY_PICKLE_DICT);
    case SETITEMS:
        return fill_from_mark(m, ASSAY_PICKLE_DICT) && end_map(m);
    case EMPTY_SET:
        return assay_pickle_push_container(m, ASSAY_PICKLE_SET);
    case ADDITEMS:
        return fill_from_mark(m, ASSAY_PICKLE_SET);
    case FROZENSET:
        return assay_pickle_pop_mark(m, &first) && put_tuple(m, ASSAY_PICKLE_SET, first);
    case GLOBAL:
        return put_global(m);
    case STACK_GLOBAL:
        return put_stack_global(m);
    case REDUCE:
        return put_call(m, ASSAY_PICKLE_CALL, false);
    case NEWOBJ:
        return put_call(m, ASSAY_PICKLE_OBJECT, false);
    case NEWOBJ_EX:
        return put_call(m, ASSAY_PICKLE_OBJECT, true);
    case BUILD:
        return set_state(m);
    case BINPERSID:
        return put_persistent(m);
    case BINPUT:
        return memo_put_at(m, 1);
    case LONG_BINPUT:
        return memo_put_at(m, 4);
    case MEMOIZE:
        return assay_pickle_memo_put(m, m->memoized);
    case BINGET:
        return memo_get_at(m, 1);
    case LONG_BINGET:
        return memo_get_at(m, 4);
    default:
        return refuse_opcode(m, code);
    }
}

/* Opcodes of pickles that hold nothing but data. A dump of a flight recorder has no bytes, sets or objects: what else
 * a stream holds is refused before it is run. */
static bool is_data(uint8_t code)
{
    switch (code) {
    case POP_MARK:
    case DUP:
    case SHORT_BINBYTES:
    case BINBYTES:
    case BINBYTES8:
    case BYTEARRAY8:
    case EMPTY_SET:
    case ADDITEMS:
    case FROZENSET:
    case NEWOBJ_EX:
        return false;
    default:
        return true;
    }
}

static void run(assay_pickle_machine *m)
{
    /* Protocols 0 and 1 have no PROTO opcode, and are not read. */
    bool going = m->size - m->at >= 2 && m->in[m->at] == PROTO
                     ? true
                     : assay_pickle_refuse(m, "a pickle begins with its protocol, 2 to 5");
    while (going) {
        m->from = m->base + m->at;
        const uint8_t *next = take(m, 1);
        if (!next)
            return;
        const uint8_t code = *next;
        if (code == STOP) {
            assay_pickle_pop(m, &m->out.root);
            m->out.end = (size_t)m->base + m->at;
            return;
        }
        going = m->feed && !is_data(code) ? refuse_opcode(m, code) : run_opcode(m, code);
    }
}

/* Releases all but what is read; that too after a failure. */
static int end_machine(assay_pickle_machine *m, assay_pickle *out)
{
    const int status = m->status;
    if (status == ASSAY_OK)
        *out = m->out;
    else
        assay_pickle_release(&m->out);
    for (size_t i = 0; i < ASSAY_PICKLE_PAGE; i++)
        free(m->memo[i]);
    assay_pickle_forms_release(&m->forms);
    free(m->stack);
    free(m->mark);
    free(m);
    return status;
}

int assay_pickle_read(const void *bytes, size_t size, assay_pickle *out, assay_error *err)
{
    assay_pickle_machine *m = assay_alloc_zeroed(1, sizeof *m);
    *out = (assay_pickle){0};
    if (!m)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory for a pickle of %zu bytes", size);
    m->out.bytes = bytes;
    m->out.size = size;
    m->in = bytes;
    m->size = size;
    m->err = err;
    if (size > RECORD_MOST)
        assay_pickle_refuse(m, "a pickle of more than 1 GiB");
    else if (assay_pickle_reserve(m))
        run(m);
    return end_machine(m, out);
}

int assay_pickle_stream(const assay_pickle_feed *feed, assay_pickle *out, bool *handed, assay_error *err)
{
    assay_pickle_machine *m = assay_alloc_zeroed(1, sizeof *m);
    *out = (assay_pickle){0};
    *handed = false;
    if (!m)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory for a pickle");
    m->feed = feed;
    m->err = err;
    m->handed.list = ASSAY_PICKLE_NOTHING;
    m->forms.last = ASSAY_PICKLE_NOTHING;
    /* The first 256 nodes are the integers 0 to 255, so that dropping an item's nodes never drops one that others
     * share. */
    for (unsigned i = 0; i < 256 && m->status == ASSAY_OK; i++) /* small integers are never dropped */
        assay_pickle_push_small(m, (uint8_t)i);
    m->height = 0;
    if (m->status == ASSAY_OK && fetch(m, 2))
        run(m);
    if (m->status == ASSAY_OK) {
        m->from = m->base + m->at;
        if (fetch(m, 1) && m->at < m->size)
            assay_pickle_refuse(m, "bytes follow the end of the pickle");
    }
    if (m->status == ASSAY_OK && m->handed.list != ASSAY_PICKLE_NOTHING)
        *handed = assay_pickle_get(&m->out, m->out.root, feed->key) == m->handed.list &&
                  m->out.node[m->handed.list].first == ASSAY_PICKLE_NOTHING;
    if (m->status == ASSAY_OK && m->given && !*handed)
        assay_pickle_refuse(m, "its list is put together as nobody writes one");
    return end_machine(m, out);
}

void assay_pickle_release(assay_pickle *p)
{
    free(p->node);
    free(p->item);
    free(p->text);
    *p = (assay_pickle){0};
}
