/* json_form.c - see json_form.h. */
#include "base/json_form.h"

#include <stdlib.h>
#include <string.h>

#include <assay/status.h>

#include "base/fault.h"
#include "base/utf8.h"

/* FORMS: files of events mix few kinds of lines. SLOTS and FIXED bound one form; a line beyond them is read by the
 * scanner each time. */
enum { FORMS = 8, SLOTS = 32, FIXED = 1024, DIGITS = 19 /* fit 64 bits */ };

/* Where a form has a value, or one of the words true, false and null that matters. */
typedef struct slot {
    uint16_t at, length; /* the bytes before it, within `fixed`; they have the word */
    uint8_t kind, field;
} slot;

/* Invariant: fixed[0..size) is the text without its values; slot i has the bytes fixed[at, at + length) before it,
 * and fixed[rest, size) follows the last value. */
typedef struct assay_json_form {
    char fixed[FIXED]; /* all bytes that are no values */
    slot slot[SLOTS];
    uint16_t slots, rest, size; /* rest: where the bytes behind the last value begin */
    uint16_t next;              /* the form that comes behind this one as a rule */
    bool missed;                /* it was another the last time */
} form;

void assay_json_forms_release(assay_json_forms *f)
{
    assay_pull_release(&f->pull);
    free(f->form);
    free(f->member);
    f->form = NULL;
    f->member = NULL;
    f->forms = f->last = f->replaced = 0;
    f->members = f->room = 0;
}

static assay_json_member *add_member(assay_json_forms *f, int kind, uint8_t field)
{
    if (f->members == f->room) {
        const size_t room = f->room ? 2 * f->room : SLOTS;
        assay_json_member *grown = assay_realloc_array(f->member, room, sizeof *grown);
        if (!grown) {
            f->pull.no_memory = true;
            return NULL;
        }
        f->member = grown;
        f->room = room;
    }
    assay_json_member *m = &f->member[f->members++];
    *m = (assay_json_member){.kind = (uint8_t)kind, .field = field};
    return m;
}

/* ---- a text of a known form ---- */

static inline uint64_t load8(const char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

static inline uint32_t load4(const char *p)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return x;
}

/* memcmp() for short runs of any length. Overlapping loads compare the last bytes twice instead of looping over
 * them. */
static inline bool is_same(const char *a, const char *b, size_t n)
{
    if (n >= 8) {
        for (size_t i = 0; i + 8 < n; i += 8)
            if (load8(a + i) != load8(b + i))
                return false;
        return load8(a + n - 8) == load8(b + n - 8);
    }
    if (n >= 4)
        return load4(a) == load4(b) && load4(a + n - 4) == load4(b + n - 4);
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* Passes over digits, which some byte behind them ends, and adds them to a number. */
static inline const char *cut_digits(const char *p, uint64_t *digits)
{
    uint64_t sum = *digits;
    for (unsigned digit; (digit = (unsigned char)*p - (unsigned)'0') < 10; p++)
        sum = sum * 10 + digit;
    *digits = sum;
    return p;
}

/* The end of the number at `p`, which some byte behind it ends; NULL: it is none. */
static inline const char *cut_number(const char *p, assay_json_member *m)
{
    const char *begin = p;
    uint64_t digits = 0;
    m->negative = *p == '-';
    p += m->negative;
    const char *first = p;
    p = cut_digits(p, &digits);
    size_t count = (size_t)(p - first);
    if (count == 0 || (*first == '0' && count > 1))
        return NULL;
    m->places = 0;
    if (*p == '.') {
        /* Digits behind the point are added to the same integer: `places` says where the point was. */
        const char *point = ++p;
        p = cut_digits(p, &digits);
        if (p == point)
            return NULL;
        count += (size_t)(p - point);
        m->places = (uint16_t)(p - point);
    }
    m->plain = count <= DIGITS;
    m->digits = digits;
    if ((*p | 0x20) == 'e') { /* the scanner reads it when it is asked for */
        p += p[1] == '-' || p[1] == '+' ? 2 : 1;
        if (!is_digit(*p))
            return NULL;
        p = cut_digits(p, &digits);
        m->plain = false;
    }
    m->text = begin;
    m->length = (size_t)(p - begin);
    return p;
}

/* Is the text of this form? Then its members are there. The last byte of the text is no part of a number. */
static bool fits(assay_json_forms *f, const form *known, const char *p, const char *end)
{
    assay_json_member *m = f->member;
    for (const slot *s = known->slot; s < known->slot + known->slots; s++) {
        /* "<=": some byte of the value has to follow, which the loops below rely on to stop. */
        if ((size_t)(end - p) <= s->length || !is_same(p, known->fixed + s->at, s->length))
            return false;
        p += s->length;
        m->kind = s->kind;
        m->field = s->field;
        if (s->kind == ASSAY_JSON_TEXT) {
            const char *close = assay_pull_plain_end(p, end);
            if (close == end || *close != '"')
                return false;
            m->text = p;
            m->length = (size_t)(close - p);
            p = close;
        } else if (s->kind == ASSAY_JSON_NUMBER) {
            p = cut_number(p, m);
            if (!p)
                return false;
        }
        m += s->field != 0;
    }
    const size_t rest = (size_t)(known->size - known->rest);
    if ((size_t)(end - p) != rest || !is_same(p, known->fixed + known->rest, rest))
        return false;
    f->members = (size_t)(m - f->member);
    return true;
}

/* Is a byte none of those that numbers are made of? */
static bool ends_numbers(char c)
{
    return c == '}' || c == ' ' || c == '\t' || c == '\r';
}

static bool take_known(assay_json_forms *f, const char *text, const char *end)
{
    if (f->forms == 0 || text == end || !ends_numbers(end[-1]))
        return false;
    form *before = &f->form[f->last];
    const unsigned guess = before->next;
    if (fits(f, &f->form[guess], text, end)) {
        before->missed = false;
        f->last = guess;
        return true;
    }
    /* Guess first: lines of one program come in a cycle (begin, end, begin, ...), and `next` learns the cycle. */
    for (unsigned i = 0; i < f->forms; i++)
        if (i != guess && fits(f, &f->form[i], text, end)) {
            before->next = (uint16_t)(before->missed ? i : guess); /* one odd line changes nothing */
            before->missed = !before->missed;
            f->last = i;
            return true;
        }
    return false;
}

/* ---- a text of a new form ---- */

/* A form while it is learned. */
typedef struct learner {
    form *form;
    bool sound;       /* so far it is one that can be kept */
    const char *from; /* what of the text is not in the form yet */
} learner;

static bool keep_fixed(learner *l, const char *until)
{
    const size_t length = (size_t)(until - l->from);
    if (!l->sound || length > (size_t)(FIXED - l->form->size))
        return l->sound = false;
    memcpy(l->form->fixed + l->form->size, l->from, length);
    l->form->size = (uint16_t)(l->form->size + length);
    return true;
}

/* There is a value in [begin, end) of the text. */
static void learn_value(learner *l, int kind, uint8_t field, const char *begin, const char *end)
{
    const uint16_t at = l->form->size;
    if (l->form->slots == SLOTS || !keep_fixed(l, begin)) {
        l->sound = false;
        /* A value too many, or too much text: the line is still read, and its form is forgotten. */
        return;
    }
    l->form->slot[l->form->slots++] = (slot){at, (uint16_t)(l->form->size - at), (uint8_t)kind, field};
    l->form->rest = l->form->size;
    l->from = end;
}

static bool scan_word(assay_json_forms *f, learner *l, uint8_t field)
{
    static const uint8_t kinds[] = {ASSAY_JSON_NULL, ASSAY_JSON_FALSE, ASSAY_JSON_TRUE};
    int word = 0;
    if (!assay_pull_literal(&f->pull, &word))
        return false;
    if (field == 0)
        return true;
    learn_value(l, kinds[word + 1], field, f->pull.at, f->pull.at);
    return add_member(f, kinds[word + 1], field) != NULL;
}

static bool scan_value(assay_json_forms *f, learner *l, uint8_t field)
{
    assay_pull *s = &f->pull;
    const char c = assay_pull_peek(s), *begin = s->at;
    const char *text = NULL;
    size_t length = 0;
    int kind = ASSAY_JSON_NESTED;
    if (c == 't' || c == 'f' || c == 'n')
        return scan_word(f, l, field);
    if (c == '"') {
        kind = ASSAY_JSON_TEXT;
        if (!assay_pull_string(s, &text, &length))
            return false;
        learn_value(l, kind, field, begin + 1, s->at - 1);
    } else {
        if (!assay_pull_skip(s))
            return false;
        text = begin;
        length = (size_t)(s->at - begin);
        kind = c == '{' || c == '[' ? ASSAY_JSON_NESTED : ASSAY_JSON_NUMBER;
        /* Objects and arrays differ inside: a form that had one would hardly ever fit again. */
        l->sound = l->sound && kind == ASSAY_JSON_NUMBER;
        learn_value(l, kind, field, begin, s->at);
    }
    assay_json_member *m = field ? add_member(f, kind, field) : NULL;
    if (m) {
        m->text = text;
        m->length = length;
    }
    return m || !field;
}

static bool scan_object(assay_json_forms *f, learner *l, uint8_t outer)
{
    assay_pull *s = &f->pull;
    bool sound = true;
    if (assay_pull_open(s, '{', '}'))
        do {
            const char *key = NULL;
            size_t length = 0;
            if (!assay_pull_key(s, &key, &length))
                return false;
            const uint8_t field = f->field_of(outer, key, length);
            if (!(field & ASSAY_JSON_ENTER))
                sound = scan_value(f, l, field);
            else if (outer == 0 && assay_pull_peek(s) == '{')
                sound = scan_object(f, l, field);
            else
                sound = scan_value(f, l, 0);
        } while (sound && assay_pull_more(s, '}'));
    return sound && !s->fault;
}

/* Takes the text apart by the scanner, and keeps its form. */
static bool take_new(assay_json_forms *f, const char *text, const char *end)
{
    /* The oldest form makes room for a new one, once all are taken. */
    const unsigned place = f->forms < FORMS ? f->forms : f->replaced;
    learner l = {.form = &f->form[place], .sound = true, .from = text};
    l.form->slots = l.form->rest = l.form->size = 0;
    const bool sound = scan_object(f, &l, 0) && assay_pull_end(&f->pull);
    if (!sound || !keep_fixed(&l, end)) {
        l.form->slots = l.form->rest = l.form->size = 0; /* it fits nothing */
        return sound;
    }
    if (f->forms > 0)
        f->form[f->last].next = (uint16_t)place;
    l.form->next = (uint16_t)place;
    f->last = place;
    if (f->forms < FORMS)
        f->forms++;
    else
        f->replaced = (f->replaced + 1) % FORMS;
    return true;
}

int assay_json_take(assay_json_forms *f, const char *text, size_t length)
{
    if (!f->form && !(f->form = assay_alloc_zeroed(FORMS, sizeof *f->form)))
        return ASSAY_ENOMEM;
    if (!f->member && !add_member(f, 0, 0)) /* room for a form's slots */
        return ASSAY_ENOMEM;
    f->members = 0;
    if (!assay_utf8_is(text, length)) { /* each of its names would be believed */
        assay_pull_start(&f->pull, text, length);
        assay_pull_fault(&f->pull, text, "it is no UTF-8");
        return ASSAY_EFORMAT;
    }
    if (take_known(f, text, text + length))
        return ASSAY_OK;
    f->members = 0;
    assay_pull_start(&f->pull, text, length);
    if (take_new(f, text, text + length))
        return ASSAY_OK;
    return f->pull.no_memory ? ASSAY_ENOMEM : ASSAY_EFORMAT;
}

/* ---- numbers ---- */

double assay_json_real(assay_json_forms *f, const assay_json_member *m)
{
    if (m->plain && m->places <= ASSAY_DECIMAL_PLACES) {
        const double size = assay_decimal(m->digits, m->places);
        return m->negative ? -size : size;
    }
    assay_pull s = {0};
    double value = 0;
    assay_pull_start(&s, m->text, m->length);
    assay_pull_number(&s, &value);
    f->pull.no_memory = f->pull.no_memory || s.no_memory;
    return value;
}

bool assay_json_integer(const assay_json_member *m, int64_t *value)
{
    assay_pull s = {0};
    bool fits = false;
    assay_pull_start(&s, m->text, m->length);
    return assay_pull_integer(&s, value, &fits) && fits;
}
