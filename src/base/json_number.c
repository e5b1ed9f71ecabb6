/* json_number.c - integers in JSON, in every form that JSON allows for them. */
#include "base/json_pull.h"

static bool is_digit(const assay_pull *s, const char *p)
{
    return p < s->end && *p >= '0' && *p <= '9';
}

typedef struct decimal { /* digits times 10^scale */
    uint64_t digits;
    int64_t scale;
    bool lost; /* a digit other than 0 did not fit: no int64 then */
} decimal;

static bool put_digit(decimal *d, char c)
{
    unsigned digit = (unsigned)(c - '0');
    if (d->digits <= (UINT64_MAX - 9) / 10) {
        d->digits = d->digits * 10 + digit;
        return true;
    }
    d->lost = d->lost || digit != 0;
    return false;
}

static bool to_int64(decimal d, bool negative, int64_t *value)
{
    if (d.lost)
        return false;
    if (d.digits == 0) {
        *value = 0;
        return true;
    }
    for (; d.scale < 0 && d.digits % 10 == 0; d.scale++)
        d.digits /= 10;
    for (; d.scale > 0 && d.digits <= UINT64_MAX / 10; d.scale--)
        d.digits *= 10;
    uint64_t most = (uint64_t)INT64_MAX + negative;
    if (d.scale != 0 || d.digits > most)
        return false;
    *value = negative ? -(int64_t)(d.digits - 1) - 1 : (int64_t)d.digits;
    return true;
}

/* The exponent at `p` (behind the e); NULL when there is none. Far beyond any scale that matters it stays put. */
static const char *take_exponent(const assay_pull *s, const char *p, int64_t *scale)
{
    bool negative = p < s->end && *p == '-';
    int64_t exponent = 0;
    if (p < s->end && (*p == '-' || *p == '+'))
        p++;
    if (!is_digit(s, p))
        return NULL;
    for (; is_digit(s, p); p++)
        if (exponent < INT64_MAX / 100)
            exponent = exponent * 10 + (*p - '0');
    *scale += negative ? -exponent : exponent;
    return p;
}

bool assay_pull_integer(assay_pull *s, int64_t *value, bool *fits)
{
    decimal d = {0};
    const char first = assay_pull_peek(s);
    const char *begin = s->at, *p = begin + (first == '-');
    const char *digits = p;
    if (!is_digit(s, p))
        return assay_pull_fault(s, p, p == s->end ? "the text ends too early" : "expected a number");
    for (; is_digit(s, p); p++)
        d.scale += !put_digit(&d, *p);
    if (*digits == '0' && p - digits > 1)
        return assay_pull_fault(s, begin, "a number with a leading zero");
    if (p < s->end && *p == '.') {
        if (!is_digit(s, ++p))
            return assay_pull_fault(s, p, "expected a digit behind the decimal point");
        for (; is_digit(s, p); p++)
            d.scale -= put_digit(&d, *p);
    }
    if (p < s->end && (*p == 'e' || *p == 'E')) {
        p = take_exponent(s, p + 1, &d.scale);
        if (!p)
            return assay_pull_fault(s, begin, "a number whose exponent has no digits");
    }
    s->at = p;
    *fits = to_int64(d, first == '-', value);
    return true;
}
