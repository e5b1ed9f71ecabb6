/* pickle_form.c - see pickle_form.h. */
#include "container/pickle_form.h"

#include <stdlib.h>
#include <string.h>

#include "container/pickle_stack.h"

/* FORMS_MOST and NAMES_MOST bound memory; TRIED_MOST bounds time: of many forms only the latest are compared with an
 * item that follows no known order. */
enum { FORMS_MOST = 1024, ELEMENTS_MOST = 128, NUMBER_MOST = 10, TRIED_MOST = 64, NAMES_MOST = 1 << 16 };

void assay_pickle_forms_release(assay_pickle_forms *f)
{
    free(f->form.list);
    free(f->bytes.list);
    *f = (assay_pickle_forms){.last = ASSAY_PICKLE_NOTHING};
}

void assay_pickle_forms_forget(assay_pickle_forms *f)
{
    f->form.count = 0;
    f->bytes.count = 0;
    f->last = ASSAY_PICKLE_NOTHING;
}

/* ---- learning ---- */

/* How long is an opcode that puts one thing on the stack, its argument included? 0: it is no such, or there is less.
 * Opcodes that put exactly one node on the stack and touch nothing else. Memo writes (BINPUT, MEMOIZE) are not among
 * them. */
static size_t push_length(const uint8_t *p, const uint8_t *end)
{
    size_t length = 0;
    switch (*p) {
    case 'N':
    case ')':
    case ']':
    case '}':
    case 0x88: /* NEWTRUE, NEWFALSE */
    case 0x89:
        length = 1;
        break;
    case 'K':
    case 'h':
        length = 2;
        break;
    case 'M':
        length = 3;
        break;
    case 'J':
    case 'j':
        length = 5;
        break;
    case 'G':
        length = 9;
        break;
    case 0x8a: /* LONG1 of 8 bytes */
        length = end - p >= 2 && p[1] == 8 ? NUMBER_MOST : 0;
        break;
    default:
        break;
    }
    return length <= (size_t)(end - p) ? length : 0;
}

/* Where the keys and values of a map begin, in turn; the last one is its end. 0: the map has opcodes that may do more
 * than it seems. A list's own opcodes lie between marks, and what is put there does not count. */
static unsigned find_elements(const uint8_t *bytes, size_t size, uint16_t element[ELEMENTS_MOST + 1])
{
    const uint8_t *p = bytes, *end = bytes + size;
    unsigned count = 0, marks = 0;
    /* Depth by marks: at 1 lie keys and values of the map itself, deeper what lists and maps within hold. */
    while (p < end) {
        const size_t length = push_length(p, end);
        if (length > 0 && marks == 0)
            return 0;
        if (length > 0 && marks == 1) {
            if (count == ELEMENTS_MOST)
                return 0;
            element[count++] = (uint16_t)(p - bytes);
        } else if (*p == '(') {
            marks++;
        } else if (*p == 'u' && marks == 1) {
            element[count] = (uint16_t)(p - bytes);
            return p + 1 == end && count % 2 == 0 ? count : 0;
        } else if ((*p == 'e' || *p == 'u') && marks > 1) {
            marks--;
        } else if (*p >= 0x85 && *p <= 0x87 && marks == 1) { /* TUPLE1 to TUPLE3 */
            const unsigned items = *p - 0x84u;
            if (count < items)
                return 0;
            /* A tuple takes its items off the stack: one element is left of them, which began with the first. */
            count -= items - 1;
        } else if (length == 0) {
            return 0;
        }
        p += length > 0 ? length : 1;
    }
    return 0;
}

/* Which of some keys this one is; -1: none. Keys are known by their memo slots: machines write a key's text once and
 * name its slot from then on. */
static int key_of(assay_pickle_machine *m, const uint8_t *key, const char *const *names, unsigned count)
{
    uint32_t slot = key[1], node = 0;
    if (*key == 'j')
        memcpy(&slot, key + 1, sizeof slot);
    else if (*key != 'h')
        return -1;
    if (!assay_pickle_memo_find(m, slot, &node))
        return -1;
    for (unsigned i = 0; i < count; i++)
        if (assay_pickle_is_text(&m->out, node, names[i]))
            return (int)i;
    return -1;
}

static bool is_number(const uint8_t *value, size_t length)
{
    return length > 0 && strchr("KMJGN\x8a", *value) && push_length(value, value + length) == length;
}

/* A number in an element, and which one it is: of the feed's, or behind those, of a list. */
typedef struct gap {
    size_t at, length;
    unsigned number;
} gap;

/* Leaves the bytes from `from` to the number fixed, and has a hole there. */
static void put_hole(assay_pickle_forms *f, assay_pickle_form *form, const uint8_t *bytes, size_t *from, gap g)
{
    form->hole[form->holes++] = (assay_pickle_hole){(uint16_t)(g.at - *from), (uint8_t)g.number};
    memcpy(f->bytes.list + f->bytes.count, bytes + *from, g.at - *from);
    f->bytes.count += g.at - *from;
    *from = g.at + g.length;
}

/* The numbers within a list: how many there are, or holes for them. */
static unsigned find_nested(assay_pickle_machine *m, assay_pickle_form *form, const uint8_t *bytes, size_t at,
                            size_t end, size_t *from)
{
    unsigned count = 0;
    while (at < end) {
        const size_t length = push_length(bytes + at, bytes + end);
        if (length > 0 && strchr("KMJ\x8a", bytes[at])) {
            if (form)
                put_hole(&m->forms, form, bytes, from, (gap){at, length, m->feed->number_count + form->nested++});
            count++;
        }
        at += length > 0 ? length : 1;
    }
    return count;
}

/* What the keys of a map stand for: of feed->numbers, of feed->lists behind them, -1. False: one comes twice. A bit
 * for each number and list: the feed has at most 16 of either. */
static bool find_keys(assay_pickle_machine *m, const uint8_t *bytes, const uint16_t *element, unsigned elements,
                      int *meaning, unsigned *nested)
{
    const unsigned numbers = m->feed->number_count;
    uint32_t seen = 0;
    for (unsigned i = 0; i < elements; i += 2) {
        const uint8_t *key = bytes + element[i];
        int found = key_of(m, key, m->feed->numbers, numbers);
        if (found < 0 && (found = key_of(m, key, m->feed->lists, m->feed->list_count)) >= 0) {
            found += (int)numbers;
            *nested +=
                bytes[element[i + 1]] == ']' ? find_nested(m, NULL, bytes, element[i + 1], element[i + 2], NULL) : 0;
        }
        if (found >= 0 && seen & 1u << found)
            return false; /* the last one counts: nothing for a form */
        seen |= found < 0 ? 0 : 1u << found;
        meaning[i / 2] = found;
    }
    return true;
}

static bool is_alike(const assay_pickle_forms *f, const assay_pickle_form *a, const assay_pickle_form *b)
{
    return a->size == b->size && a->holes == b->holes && memcmp(a->hole, b->hole, a->holes * sizeof *a->hole) == 0 &&
           memcmp(f->bytes.list + a->at, f->bytes.list + b->at, a->size) == 0;
}

/* Puts a form first among those that follow another one. */
static void note_next(assay_pickle_forms *f, uint32_t next)
{
    assay_pickle_form *last = f->last < f->form.count ? &f->form.list[f->last] : NULL;
    uint32_t moved = next;
    for (unsigned i = 0; i < ASSAY_PICKLE_FORM_NEXT && last; i++) {
        const uint32_t other = last->next[i];
        last->next[i] = moved;
        if (other == next)
            break;
        moved = other;
    }
    f->last = next;
}

const assay_pickle_form *assay_pickle_forms_learn(assay_pickle_machine *m, const uint8_t *bytes, size_t size,
                                                  uint32_t made)
{
    assay_pickle_forms *f = &m->forms;
    uint16_t element[ELEMENTS_MOST + 1];
    int meaning[ELEMENTS_MOST / 2];
    const unsigned elements = size <= ASSAY_PICKLE_FORM_MOST ? find_elements(bytes, size, element) : 0;
    /* All numbers count as absent until a hole for them was found. */
    assay_pickle_form form = {
        .at = f->bytes.count, .made = made, .name = f->named, .absent = (1u << m->feed->number_count) - 1};
    unsigned nested = 0;
    size_t from = 0;
    f->last = elements == 0 ? ASSAY_PICKLE_NOTHING : f->last;
    /* Room for the bytes is made before anything is put there: put_hole() may not fail. */
    if (elements == 0 || f->form.count == FORMS_MOST || f->named == NAMES_MOST || !ASSAY_VEC_RESERVE(&f->bytes, size) ||
        !find_keys(m, bytes, element, elements, meaning, &nested))
        return NULL;
    for (unsigned i = 0; i < elements; i += 2) {
        const size_t value = element[i + 1], end = element[i + 2];
        const int what = meaning[i / 2];
        if (what >= (int)m->feed->number_count && nested <= ASSAY_PICKLE_FORM_NESTED && bytes[value] == ']')
            find_nested(m, &form, bytes, value, end, &from);
        else if (what >= 0 && what < (int)m->feed->number_count && is_number(bytes + value, end - value)) {
            put_hole(f, &form, bytes, &from, (gap){value, end - value, (unsigned)what});
            form.absent &= ~(1u << what);
        }
    }
    memcpy(f->bytes.list + f->bytes.count, bytes + from, size - from);
    form.size = (uint16_t)(f->bytes.count + (size - from) - form.at);
    form.most = (uint16_t)(form.size + NUMBER_MOST * form.holes);
    memset(form.next, 0xff, sizeof form.next);
    /* Linear, but only where an item fits no form that was tried: 1024 comparisons of lengths at most. */
    for (size_t i = 0; i < f->form.count; i++)
        if (is_alike(f, &f->form.list[i], &form)) { /* it was too long ago to be tried */
            f->bytes.count = form.at;
            note_next(f, (uint32_t)i);
            return &f->form.list[i];
        }
    assay_pickle_form *to = ASSAY_VEC_ADD(&f->form);
    f->bytes.count = to ? form.at + form.size : form.at;
    if (!to)
        return NULL;
    *to = form;
    f->named++;
    note_next(f, (uint32_t)(f->form.count - 1));
    return to;
}

void assay_pickle_forms_drop(assay_pickle_forms *f, const assay_pickle_form *form)
{
    /* Forms are kept in the order in which they were learned; only the last one can go without moving others. */
    if (form != &f->form.list[f->form.count - 1])
        return;
    f->bytes.count = form->at;
    f->form.count--;
}

/* ---- matching ---- */

static uint64_t load(const uint8_t *p)
{
    uint64_t word = 0;
    memcpy(&word, p, sizeof word);
    return word;
}

/* Few bytes, mostly: a call would take as long as the comparison. */
static inline bool same(const uint8_t *a, const uint8_t *b, size_t size)
{
    uint64_t differs = 0;
    if (size < sizeof differs) {
        for (size_t i = 0; i < size; i++)
            differs |= a[i] ^ b[i];
        return differs == 0;
    }
    for (size_t i = 0; i + sizeof differs <= size; i += sizeof differs)
        if (load(a + i) != load(b + i))
            return false;
    return load(a + size - sizeof differs) == load(b + size - sizeof differs);
}

/* The number that begins at p; where it ends. NULL: there is none. */
static inline const uint8_t *take_number(const uint8_t *p, assay_pickle_number *out)
{
    out->kind = ASSAY_PICKLE_INT;
    switch (*p) {
    case 'K':
        out->integer = p[1];
        return p + 2;
    case 'M':
        out->integer = p[1] | p[2] << 8;
        return p + 3;
    case 'J':
        out->integer = (int32_t)((uint32_t)p[1] | (uint32_t)p[2] << 8 | (uint32_t)p[3] << 16 | (uint32_t)p[4] << 24);
        return p + 5;
    case 0x8a:
        if (p[1] != 8)
            return NULL;
        out->integer = 0;
        for (unsigned i = 0; i < 8; i++)
            out->integer |= (int64_t)((uint64_t)p[2 + i] << 8 * i);
        return p + NUMBER_MOST;
    case 'N':
        out->kind = ASSAY_PICKLE_NONE;
        return p + 1;
    case 'G':
        out->kind = ASSAY_PICKLE_FLOAT;
        return p + 9;
    default:
        return NULL;
    }
}

/* `numbers`: how many of a form's numbers are none of a list's, which are whole. */
static size_t match(const assay_pickle_forms *f, const assay_pickle_form *form, const uint8_t *bytes, size_t size,
                    unsigned numbers, assay_pickle_number *number)
{
    const uint8_t *p = bytes, *known = f->bytes.list + form->at;
    /* `most` bytes are there, so that no number is cut, whatever its width: nothing below asks for the end. */
    if (size < form->most)
        return 0;
    for (unsigned i = 0; i < form->holes; i++) {
        const assay_pickle_hole *h = &form->hole[i];
        assay_pickle_number *n = &number[h->number];
        if (!same(p, known, h->before) || !(p = take_number(p + h->before, n)) ||
            (h->number >= numbers && (n->kind != ASSAY_PICKLE_INT || n->integer < 0)))
            return 0;
        known += h->before;
    }
    const size_t left = (size_t)(f->bytes.list + form->at + form->size - known);
    return same(p, known, left) ? (size_t)(p - bytes) + left : 0;
}

size_t assay_pickle_forms_match(assay_pickle_machine *m, const uint8_t *bytes, size_t size, assay_pickle_number *number,
                                const assay_pickle_form **form)
{
    assay_pickle_forms *f = &m->forms;
    const assay_pickle_form *last = f->last < f->form.count ? &f->form.list[f->last] : NULL;
    uint32_t found = ASSAY_PICKLE_NOTHING;
    size_t length = 0;
    /* First the forms that followed the last one before, in the order of use: machines write entries in cycles. Then
     * the latest ones, whatever came before. */
    for (unsigned i = 0; i < ASSAY_PICKLE_FORM_NEXT && last && last->next[i] < f->form.count && length == 0; i++) {
        found = last->next[i];
        length = match(f, &f->form.list[found], bytes, size, m->feed->number_count, number);
    }
    for (size_t i = f->form.count, tried = 0; i-- > 0 && length == 0 && tried < TRIED_MOST; tried++) {
        found = (uint32_t)i;
        length = match(f, &f->form.list[found], bytes, size, m->feed->number_count, number);
    }
    if (length == 0)
        return 0;
    if (last && last->next[0] == found)
        f->last = found;
    else
        note_next(f, found);
    *form = &f->form.list[found];
    for (uint32_t left = (*form)->absent; left; left &= left - 1)
        number[__builtin_ctz(left)].kind = ASSAY_PICKLE_NONE;
    return length;
}
