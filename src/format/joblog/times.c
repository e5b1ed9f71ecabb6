/* times.c - times that stand in front of lines, as prefix.c lists them. */
#include <string.h>

#include "base/path.h"
#include "format/joblog/text.h"

static double seconds_of(int64_t year, int64_t month, int64_t day, double clock)
{
    /* days since 1970 of the proleptic Gregorian calendar: years begin in March, so that leap days are last */
    const int64_t y = month <= 2 ? year - 1 : year, era = y / 400, of_era = y - era * 400,
                  of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1,
                  days = era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
    return (double)days * 86400 + clock;
}

static bool is_day(int64_t month, int64_t day)
{
    return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

static bool is_two(const char *at)
{
    return assay_is_digit(at[0]) && assay_is_digit(at[1]);
}

static int64_t two(const char *at)
{
    return 10 * (at[0] - '0') + (at[1] - '0');
}

/* "03:12:07.123"; asked of many lines */
static bool take_clock(text *t, double *seconds)
{
    const char *const at = t->at;
    text ahead = *t;
    if (t->left < 8 || !is_two(at) || at[2] != ':' || !is_two(at + 3) || at[5] != ':' || !is_two(at + 6) ||
        (t->left > 8 && assay_is_digit(at[8])))
        return false;
    const int64_t h = two(at), m = two(at + 3), s = two(at + 6);
    if (h > 23 || m > 59 || s > 60)
        return false;
    skip(&ahead, 8);
    *seconds = (double)(3600 * h + 60 * m + s);
    if (ahead.left > 1 && (*ahead.at == '.' || *ahead.at == ',') && assay_is_digit(ahead.at[1])) {
        int64_t fraction = 0, of = 1;
        skip(&ahead, 1);
        for (; ahead.left > 0 && assay_is_digit(*ahead.at); skip(&ahead, 1)) {
            const bool counts = of < 1000000000; /* smaller parts do not */
            fraction = counts ? 10 * fraction + (*ahead.at - '0') : fraction;
            of *= counts ? 10 : 1;
        }
        *seconds += (double)fraction / (double)of;
    }
    *t = ahead;
    return true;
}

static void skip_zone(text *t)
{
    int64_t number;
    text ahead = *t;
    if (skip_byte(&ahead, 'Z') || skip_word(&ahead, " UTC")) {
        *t = ahead;
    } else if ((skip_byte(&ahead, '+') || skip_byte(&ahead, '-')) && ahead.left >= 4) {
        text four = ahead;
        if (take_number(&ahead, 2, 2, &number) && skip_byte(&ahead, ':') && take_number(&ahead, 2, 2, &number))
            *t = ahead;
        else if (take_number(&four, 4, 4, &number))
            *t = four;
    }
}

/* "2026-11-27T03:12:07", "2026/11/27 03:12:07", "11/27/2026 03:12:07" */
static bool take_date(text *t, double *time)
{
    const char *const at = t->at;
    text ahead = *t;
    int64_t a, b, c;
    double clock;
    if (ahead.left < 19)
        return false;
    if (is_two(at) && is_two(at + 2) && (at[4] == '-' || at[4] == '/') && at[7] == at[4] && is_two(at + 5) &&
        is_two(at + 8)) {
        a = 100 * two(at) + two(at + 2);
        b = two(at + 5);
        c = two(at + 8);
    } else if (is_two(at) && at[2] == '/' && is_two(at + 3) && at[5] == '/' && is_two(at + 6) && is_two(at + 8)) {
        a = 100 * two(at + 6) + two(at + 8);
        b = two(at);
        c = two(at + 3);
    } else {
        return false;
    }
    skip(&ahead, 10);
    if (!is_day(b, c) || ahead.left == 0 || (*ahead.at != ' ' && *ahead.at != 'T'))
        return false;
    skip(&ahead, 1);
    if (!take_clock(&ahead, &clock))
        return false;
    skip_zone(&ahead);
    *time = seconds_of(a, b, c, clock);
    *t = ahead;
    return true;
}

/* "Nov 27 03:12:07", "Fri Nov 27 03:12:07 2026" */
static bool take_month(text *t, double *time, uint8_t *timed)
{
    static const char days[] = "MonTueWedThuFriSatSun", months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    text ahead = *t;
    int64_t month = 0, day, year;
    double clock;
    if (ahead.left < 15)
        return false;
    for (size_t i = 0; i < sizeof days - 1; i += 3)
        if (memcmp(ahead.at, days + i, 3) == 0 && ahead.at[3] == ' ') {
            skip(&ahead, 4);
            break;
        }
    for (size_t i = 0; i < sizeof months - 1 && ahead.left > 3; i += 3)
        if (memcmp(ahead.at, months + i, 3) == 0)
            month = (int64_t)i / 3 + 1;
    if (month == 0)
        return false;
    skip(&ahead, 3);
    skip_blanks(&ahead);
    if (!take_number(&ahead, 1, 2, &day) || !is_day(month, day) || !skip_byte(&ahead, ' ') ||
        !take_clock(&ahead, &clock))
        return false;
    text behind = ahead;
    const bool has_year = skip_byte(&behind, ' ') && take_number(&behind, 4, 4, &year) && year > 1999;
    if (has_year)
        ahead = behind;
    *time = seconds_of(has_year ? year : 2000, month, day, clock);
    *timed = has_year ? ASSAY_LOG_DATED : ASSAY_LOG_YEARLESS;
    *t = ahead;
    return true;
}

/* "E1127 03:12:07.123456"; PyTorch's own has no zero in front of the month: "E623 03:12:07.1" */
static bool take_glog(text *t, double *time)
{
    text ahead = *t;
    int64_t day;
    double clock;
    if (ahead.left < 13 || !strchr("IWEFD", *ahead.at))
        return false;
    skip(&ahead, 1);
    if (!take_number(&ahead, 3, 4, &day) || !is_day(day / 100, day % 100) || !skip_byte(&ahead, ' ') ||
        !take_clock(&ahead, &clock))
        return false;
    *time = seconds_of(2000, day / 100, day % 100, clock);
    *t = ahead;
    return true;
}

/* "ERROR 09-28 15:47:24 [core.py:718]" of vLLM: a level, and a time without its year. */
static bool take_level(text *t, double *time)
{
    static const char *const levels[] = {"ERROR ", "WARNING ", "INFO "};
    text ahead = *t;
    int64_t month, day;
    double clock;
    bool level = false;
    for (size_t i = 0; i < sizeof levels / sizeof *levels && !level && strchr("EWI", *t->at); i++)
        level = skip_word(&ahead, levels[i]);
    if (!level || !take_number(&ahead, 2, 2, &month) || !skip_byte(&ahead, '-') || !take_number(&ahead, 2, 2, &day) ||
        !is_day(month, day) || !skip_byte(&ahead, ' ') || !take_clock(&ahead, &clock))
        return false;
    *time = seconds_of(2000, month, day, clock);
    *t = ahead;
    return true;
}

bool joblog_take_time(text *t, joblog_prefix *out, bool *glog)
{
    const char *const begin = t->at;
    double time = 0;
    uint8_t timed = ASSAY_LOG_UNTIMED;
    *glog = false;
    if (t->left < 8) /* the shortest is "03:12:07" */
        return false;
    if (assay_is_digit(*t->at)) {
        if (t->at[2] == ':')
            timed = take_clock(t, &time) ? ASSAY_LOG_CLOCK : timed;
        else
            timed = take_date(t, &time) ? ASSAY_LOG_DATED : timed;
    } else if (*t->at >= 'A' && *t->at <= 'Z') {
        *glog = assay_is_digit(t->at[1]) && take_glog(t, &time);
        if (*glog || take_level(t, &time))
            timed = ASSAY_LOG_YEARLESS;
        else if (t->at[3] == ' ')
            (void)take_month(t, &time, &timed);
    }
    for (size_t i = 0; i < sizeof out->times / sizeof *out->times && timed != ASSAY_LOG_UNTIMED; i++)
        if (!out->times[i][0]) {
            out->times[i][0] = begin;
            out->times[i][1] = t->at;
            break;
        }
    if (timed > out->timed) {
        out->time = time;
        out->timed = timed;
    }
    return timed != ASSAY_LOG_UNTIMED;
}

bool joblog_time_of(const char *line, size_t length, double *time, uint8_t *timed)
{
    text t = {line, length};
    joblog_prefix out = {.rank = -1};
    bool glog;
    (void)joblog_take_time(&t, &out, &glog);
    *time = out.time;
    *timed = out.timed;
    return out.timed != ASSAY_LOG_UNTIMED;
}

bool joblog_may_have_time(const char *line, size_t length)
{
    enum { FRONT = 96 };
    const char *const stop = line + (length < FRONT ? length : FRONT);
    for (const char *colon = line; (colon = memchr(colon, ':', (size_t)(stop - colon))) != NULL; colon++)
        if (colon - line >= 2 && stop - colon > 3 && assay_is_digit(colon[-1]) && assay_is_digit(colon[-2]) &&
            assay_is_digit(colon[1]) && assay_is_digit(colon[2]) && colon[3] == ':')
            return true;
    return false;
}
