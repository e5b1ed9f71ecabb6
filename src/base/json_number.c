/* json_number.c - numbers in JSON: integers in every form that JSON allows for them, and the nearest double. */
#include "base/json_pull.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    /* Nineteen digits always fit, a twentieth sometimes. */
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
    /* 1500e-2 is 15: zeros at the end cancel a negative scale, and only what is left of the scale makes it no
     * integer. */
    for (; d.scale < 0 && d.digits % 10 == 0; d.scale++)
        d.digits /= 10;
    for (; d.scale > 0 && d.digits <= UINT64_MAX / 10; d.scale--)
        d.digits *= 10;
    uint64_t most = (uint64_t)INT64_MAX + negative;
    if (d.scale != 0 || d.digits > most)
        return false;
    /* INT64_MIN has no positive twin: it is reached without ever negating 2^63. */
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

/* Takes a number apart; `d` has its size without the sign. */
static bool take_decimal(assay_pull *s, decimal *d, bool *negative)
{
    const char first = assay_pull_peek(s);
    const char *begin = s->at, *p = begin + (first == '-');
    const char *digits = p;
    *d = (decimal){0};
    *negative = first == '-';
    if (!is_digit(s, p))
        return assay_pull_fault(s, p, p == s->end ? "the text ends too early" : "expected a number");
    for (; is_digit(s, p); p++)
        d->scale += !put_digit(d, *p);
    if (*digits == '0' && p - digits > 1)
        return assay_pull_fault(s, begin, "a number with a leading zero");
    if (p < s->end && *p == '.') {
        if (!is_digit(s, ++p))
            return assay_pull_fault(s, p, "expected a digit behind the decimal point");
        for (; is_digit(s, p); p++)
            d->scale -= put_digit(d, *p);
    }
    if (p < s->end && (*p == 'e' || *p == 'E')) {
        p = take_exponent(s, p + 1, &d->scale);
        if (!p)
            return assay_pull_fault(s, begin, "a number whose exponent has no digits");
    }
    s->at = p;
    return true;
}

bool assay_pull_integer(assay_pull *s, int64_t *value, bool *fits)
{
    decimal d;
    bool negative = false;
    if (!take_decimal(s, &d, &negative))
        return false;
    *fits = to_int64(d, negative, value);
    return true;
}

/* digits / 10^places, places > 0, rounded once: a quotient of at least 65 bits, of which the rest that is cut off is
 * remembered. */
static double divided(uint64_t digits, unsigned places)
{
    static const uint64_t whole_tens[] = {1,
                                          10,
                                          100,
                                          1000,
                                          10000,
                                          100000,
                                          1000000,
                                          10000000,
                                          100000000,
                                          1000000000,
                                          10000000000,
                                          100000000000,
                                          1000000000000,
                                          10000000000000,
                                          100000000000000,
                                          1000000000000000,
                                          10000000000000000,
                                          100000000000000000,
                                          1000000000000000000};
    const int up = __builtin_clzll(digits);
    const unsigned __int128 dividend = (unsigned __int128)(digits << up) << 64;
    const unsigned __int128 quotient = dividend / whole_tens[places]; /* has 67 to 125 bits */
    const uint64_t high = (uint64_t)(quotient >> 64), low = (uint64_t)quotient;
    const int over = 64 - __builtin_clzll(high);
    /* `kept` has the quotient's first 64 bits: 53 of mantissa, then a bit that rounds, then ten that tell of a tie. */
    const uint64_t kept = high << (64 - over) | low >> over; /* 64 bits with the top one set: 53 stay */
    const bool more = low << (64 - over) != 0 || quotient * whole_tens[places] != dividend || (kept & 0x3ff) != 0;
    const uint64_t mantissa = kept >> 11;
    const bool raised = (kept & 0x400) != 0 && (more || (mantissa & 1));
    return ldexp((double)(mantissa + raised), 11 + over - 64 - up);
}

/* Powers of ten that doubles have exactly. */
enum { EXACT_TENS = 22 };
static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

double assay_decimal(uint64_t digits, unsigned places)
{
    if (places == 0)
        return (double)digits;
    return digits <= UINT64_C(1) << 53 ? (double)digits / tens[places] : divided(digits, places);
}

bool assay_pull_number(assay_pull *s, double *value)
{
    decimal d;
    bool negative = false;
    assay_pull_peek(s);
    const char *begin = s->at;
    if (!take_decimal(s, &d, &negative))
        return false;
    /* Three ways to the nearest double, the quickest first: doubles that are exact, whose quotient or product is
     * rounded once (Clinger, 1990), a division in 128 bits, and strtod(). */
    double size = 0;
    if (!d.lost && d.digits <= UINT64_C(1) << 53 && d.scale <= EXACT_TENS && d.scale >= -EXACT_TENS) {
        size = d.scale < 0 ? (double)d.digits / tens[-d.scale] : (double)d.digits * tens[d.scale];
    } else if (!d.lost && d.scale <= 0 && d.scale >= -ASSAY_DECIMAL_PLACES) {
        size = assay_decimal(d.digits, (unsigned)-d.scale);
    } else if (d.digits > 0) { /* rare: the library rounds what has more digits or a large exponent */
        char room[128];
        const size_t length = (size_t)(s->at - begin);
        char *copy = length < sizeof room ? room : malloc(length + 1);
        if (!copy) {
            s->no_memory = true;
            return assay_pull_fault(s, begin, "out of memory");
        }
        memcpy(copy, begin, length);
        copy[length] = '\0';
        size = fabs(strtod(copy, NULL));
        if (copy != room)
            free(copy);
    }
    *value = negative ? -size : size;
    return true;
}
