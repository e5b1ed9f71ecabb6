/* pairs.c - see pairs.h.
 *
 * How it works. The line is cut into words, numbers and borders. Words add up to a name; a number ends it, and with it a
 * pair; a border (`|`, `,`, `;`, braces, a dash between blanks) drops words that no number followed. Dates, times and
 * versions are numbers that go on with what numbers do not have: they drop the words before them, too. */
#include "format/metrics/pairs.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/path.h"

enum { WORDS_MOST = 6, BARE_WORDS_MOST = 2 }; /* of a name; of one without a colon: what is longer is a sentence */

typedef struct scan {
    metrics_pairs *out;
    const char *line, *p, *end;
    const char *name[WORDS_MOST]; /* where its last words begin */
    const char *name_end;
    unsigned words;
    bool set; /* a colon came behind the name */
    int mode; /* of what follows, as words said that no number followed; 0: nothing was said */
    unsigned brackets;
    bool point; /* the number at hand was written with one */
} scan;

static bool is_border(char c)
{
    return c == '|' || c == ',' || c == ';' || c == '{' || c == '}' || c == '[' || c == ']' || c == '\t';
}

static bool is_quote(char c)
{
    return c == '\'' || c == '"';
}

typedef struct leading {
    int mode;
    bool others;
} leading;

/* Of the words of a part of a line, those that say of what it is: "valid on 'valid' subset", "Test set", "Train". */
static void note_leading(void *context, const char *word, size_t length)
{
    static const char *const
        fillers[] = {"set",   "on",   "subset", "split", "data",   "dataset", "result", "results", "metrics", "summary",
                     "phase", "mode", "the",    "net",   "output", "at",      "iter",   "step",    "epoch"},
        *const trains[] = {"train", "training"}, *const evals[] = {"validate", "validating", "evaluating", "cv"},
        *const tests[] = {"testing"};
    leading *l = context;
#define AMONG(words) metrics_is_among(words, sizeof words / sizeof *words, word, length)
    if (metrics_is_eval_word(word, length) || AMONG(evals))
        l->mode = ASSAY_MODE_EVAL;
    else if (metrics_is_predict_word(word, length) || AMONG(tests))
        l->mode = l->mode ? l->mode : ASSAY_MODE_PREDICT;
    else if (AMONG(trains))
        l->mode = l->mode ? l->mode : ASSAY_MODE_TRAIN;
    else
        l->others = l->others || !(AMONG(fillers) || *word == '#'); /* "Test net output #1" of Caffe */
#undef AMONG
}

static void forget_name(scan *s)
{
    s->words = 0;
    s->set = false;
}

/* Drops words that no number followed. They may say of what the numbers are that follow. */
static void drop_name(scan *s)
{
    static const char *const environments[] = {"dev"}; /* alone it is the machine's, and no set of data */
    leading l = {0};
    if (s->words > 0 && strchr("TtVvEeDdPp", *s->name[0])) { /* as all such words begin: most phrases need no look */
        size_t length = (size_t)(s->name_end - s->name[0]);
        length -= length > 0 && s->name_end[-1] == ')' && !memchr(s->name[0], '(', length);
        metrics_words(s->name[0], length, note_leading, &l);
        const bool environment = metrics_is_among(environments, 1, s->name[0], length);
        if (l.mode && !l.others && !(environment && !(s->set && *s->name[0] == 'D'))) /* "DEV : loss 1.5" */
            s->mode = l.mode;
    }
    forget_name(s);
}

static bool is_word(const char *from, const char *to, const char *const *words, size_t count)
{
    return metrics_is_among(words, count, from, (size_t)(to - from));
}

/* "avg loss so far is 0.02", "Val acc is 98.5": as good as a colon, but in a sentence about "the loss". */
static bool is_copula(const scan *s, const char *from, const char *to)
{
    static const char *const copulas[] = {"is", "was"}, *const articles[] = {"the", "a", "an"};
    const char *article = s->words > 0 ? s->name[0] : NULL, *end = article;
    const char *next = to;
    while (next < s->end && *next == ' ')
        next++;
    const char *stop = next;
    double value = 0;
    while (stop < s->end && *stop != ' ' && !is_border(*stop))
        stop++;
    if (next == stop || (!strchr("+-.0123456789", *next) && !metrics_number(next, (size_t)(stop - next), &value)))
        return false; /* "Model is improving" */
    if (s->words == 0 || s->set || !is_word(from, to, copulas, sizeof copulas / sizeof *copulas) ||
        (s->words > BARE_WORDS_MOST && !metrics_is_loss(s->name[0], (size_t)(s->name_end - s->name[0]))))
        return false;
    for (; end < s->name_end; article = ++end) {
        while (end < s->name_end && *end != ' ')
            end++;
        if (is_word(article, end, articles, sizeof articles / sizeof *articles))
            return false;
    }
    return true;
}

static void add_word(scan *s, const char *from, const char *to)
{
    if (s->set) /* "Summary: loss": the name begins behind the colon */
        drop_name(s);
    if (s->words == WORDS_MOST) {
        memmove(s->name, s->name + 1, (WORDS_MOST - 1) * sizeof *s->name);
        s->words--;
    }
    s->name[s->words++] = from;
    s->name_end = to;
}

/* ---- names ---- */

typedef struct naming {
    const char *const *words;
    size_t count, found, others;
} naming;

static bool is_mode_word(const char *word, size_t length)
{
    static const char *const words[] = {"train",   "training",  "validate", "validating", "evaluating",
                                        "testing", "evaluated", "tests",    "cv"};
    return metrics_is_among(words, sizeof words / sizeof *words, word, length) || metrics_is_eval_word(word, length) ||
           metrics_is_predict_word(word, length);
}

static bool is_which_word(const char *word, size_t length)
{
    static const char *const words[] = {"global",    "current", "optimizer", "num",   "number",   "no",      "at",
                                        "completed", "id",      "idx",       "index", "finished", "learning"};
    return metrics_is_among(words, sizeof words / sizeof *words, word, length);
}

static void note_word(void *context, const char *word, size_t length)
{
    naming *n = context;
    if (metrics_is_among(n->words, n->count, word, length))
        n->found++;
    else if (!is_mode_word(word, length) && !is_which_word(word, length))
        n->others++;
}

/* Parentheses are borders of words here: "Epoch(train)". */
static void visit(const char *name, size_t length, naming *n)
{
    char plain[METRICS_PAIR_NAME_MOST];
    length = length < sizeof plain ? length : sizeof plain;
    for (size_t i = 0; i < length; i++)
        plain[i] = name[i] == '(' || name[i] == ')' ? ' ' : name[i];
    metrics_words(plain, length, note_word, n);
}

bool metrics_pair_is_called(const metrics_pair *pair, const char *const *words, size_t count)
{
    naming n = {words, count, 0, 0};
    visit(pair->name, pair->length, &n);
    return n.found > 0 && n.others == 0;
}

bool metrics_pair_is_mode(const metrics_pair *pair)
{
    naming n = {NULL, 0, 0, 0};
    visit(pair->name, pair->length, &n);
    return pair->length > 0 && n.others == 0;
}

/* "loss train: 2.8, val: 2.9": a mode alone is of what was named before. */
static void complete(const scan *s, metrics_pair *pair)
{
    metrics_pairs *out = s->out;
    const metrics_pair *before = out->count ? &out->list[out->count - 1] : NULL;
    if (!s->set || !before || !metrics_pair_is_mode(pair) || !metrics_is_loss(before->name, before->length))
        return;
    const char *blank = memrchr(before->name, ' ', before->length);
    const size_t own = blank ? (size_t)(blank + 1 - before->name) : 0;
    const metrics_pair last = {.name = before->name + own, .length = blank ? before->length - own : 0};
    if (!metrics_pair_is_mode(&last) || own + pair->length > sizeof out->texts - out->used)
        return;
    char *to = out->texts + out->used;
    memcpy(to, before->name, own);
    memcpy(to + own, pair->name, pair->length);
    pair->name = to;
    pair->length += own;
    out->used += pair->length;
}

bool metrics_pair_is_source(const metrics_pair *pair)
{
    static const char *const endings[] = {"py", "c", "cc", "cpp", "cu", "h", "hpp", "rs", "go", "java", "js", "ts"};
    const char *dot = memrchr(pair->name, '.', pair->length);
    return dot && metrics_is_among(endings, sizeof endings / sizeof *endings, dot + 1,
                                   (size_t)(pair->name + pair->length - dot) - 1);
}

void metrics_pairs_add(metrics_pairs *pairs, const metrics_pair *pair)
{
    if (pairs->count == METRICS_PAIRS_MOST)
        pairs->left++;
    else
        pairs->list[pairs->count++] = *pair;
}

/* Notes a number without a name: what is right before the first pair may number the line. A time in seconds since 1970
 * does not. */
static void note_number(metrics_pairs *pairs, const metrics_pair *pair)
{
    int64_t step = 0;
    for (size_t i = 0; i < pairs->count; i++)
        if (!metrics_pair_is_source(&pairs->list[i]))
            return;
    pairs->numbered = *pair;
    if (!metrics_step_of(pair->value, &step) || step < 0 || step >= 1000000000 || pair->share)
        pairs->numbered.value = -1;
}

/* "ValLoss", "Best testAcc": what the first part of the name's last word says; 0: nothing. The name stays as it is. */
static int mode_within(const char *name, size_t length)
{
    const char *blank = memrchr(name, ' ', length), *from = blank ? blank + 1 : name, *end = name + length, *p = from;
    while (p < end && (p == from ? isalpha((unsigned char)*p) : islower((unsigned char)*p)))
        p++;
    if (p == end || !isupper((unsigned char)*p))
        return 0;
    return metrics_is_eval_word(from, (size_t)(p - from))      ? ASSAY_MODE_EVAL
           : metrics_is_predict_word(from, (size_t)(p - from)) ? ASSAY_MODE_PREDICT
                                                               : 0;
}

static void add_pair(scan *s, double value, int64_t of, bool bracketed, bool share)
{
    const char *name = s->words ? s->name[0] : "";
    const size_t length = s->words ? (size_t)(s->name_end - name) : 0;
    const char *open = memchr(name, '(', length);
    const bool sentence = (!s->set && s->words > BARE_WORDS_MOST) || length > METRICS_PAIR_NAME_MOST ||
                          (open && !memchr(open, ')', length - (size_t)(open - name)));
    s->out->losses_left +=
        sentence && metrics_is_loss(name, length < METRICS_PAIR_NAME_MOST ? length : METRICS_PAIR_NAME_MOST);
    metrics_pair pair = {.name = sentence ? "" : name,
                         .length = sentence ? 0 : length,
                         .value = value,
                         .of = of,
                         .set = s->set,
                         .bracketed = bracketed,
                         .share = share,
                         .mode = s->mode};
    if (pair.mode == 0)
        pair.mode = mode_within(pair.name, pair.length);
    if (pair.length > 0 || of >= 0) {
        if (s->out->count < METRICS_PAIRS_MOST)
            complete(s, &pair);
        metrics_pairs_add(s->out, &pair);
        if (metrics_pair_is_source(&pair))
            s->out->numbered.value = -1;
    } else if (s->words == 0 && !(s->point && s->brackets > 0)) { /* "[10 | 25.50] loss=2.5" */
        note_number(s->out, &pair);
    }
    forget_name(s);
}

/* ---- numbers ---- */

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && *p == ' ')
        p++;
    return p;
}

/* Where a number ends that begins at the place; NULL: there is none. Digits may be in groups of three: "10,050". */
static const char *number_end(const char *p, const char *end)
{
    double value = 0;
    const char *from = p, *first = p += p < end && (*p == '-' || *p == '+');
    const size_t unlike =
        p < end && *p == '1' ? metrics_non_finite(from, (size_t)(end - from), &value) : 0; /* "1.#QNAN" */
    if (unlike > 0)
        return from + unlike;
    while (p < end && assay_is_digit(*p))
        p++;
    const size_t whole = (size_t)(p - first);
    while (whole > 0 && whole < 4 && end - p > 3 && *p == ',' && assay_is_digit(p[1]) && assay_is_digit(p[2]) &&
           assay_is_digit(p[3]) && (end - p == 4 || !assay_is_digit(p[4])))
        p += 4;
    if (p < end && *p == '.')
        for (p++; p < end && assay_is_digit(*p);)
            p++;
    if (p == first || (p == first + 1 && *first == '.'))
        return NULL;
    if (p < end && (*p == 'e' || *p == 'E')) {
        const char *q = p + 1 + (p + 1 < end && (p[1] == '-' || p[1] == '+'));
        if (q < end && assay_is_digit(*q))
            for (p = q; p < end && assay_is_digit(*p);)
                p++;
    }
    return p;
}

static bool take_double(const char *from, const char *to, double *value)
{
    char plain[64];
    size_t length = 0;
    for (const char *p = from; p < to; p++) {
        if (length == sizeof plain)
            return false;
        if (*p != ',')
            plain[length++] = *p;
    }
    return metrics_number(plain, length, value);
}

/* The whole number behind a slash at the place ("/600", " / 600"), -1: there is none; *p moves behind it. */
static int64_t take_of(const char **p, const char *end)
{
    const char *at = skip_blanks(*p, end), *behind = NULL;
    double of = 0;
    int64_t whole = -1;
    if (at == end || *at != '/')
        return -1;
    at = skip_blanks(at + 1, end);
    behind = at < end && assay_is_digit(*at) ? number_end(at, end) : NULL;
    if (!behind || !take_double(at, behind, &of) || !metrics_step_of(of, &whole) || whole < 0)
        return -1;
    *p = behind;
    return whole;
}

/* Looks PARENTHESES_MOST bytes far: a long line of numbers that each open one and close none is read once, not once for each
 * of them. */
static const char *skip_parentheses(const char *p, const char *end)
{
    enum { PARENTHESES_MOST = 64 };
    p = skip_blanks(p, end);
    const size_t room = end - p < PARENTHESES_MOST ? (size_t)(end - p) : PARENTHESES_MOST;
    const char *close = p < end && *p == '(' ? memchr(p, ')', room) : NULL;
    if (close &&
        is_mode_word(p + 1, (size_t)(close - p) - 1)) /* "Epoch 1 (valid): loss=2": it says of what the rest is */
        return p;
    return close ? skip_blanks(close + 1, end) : p;
}

static bool is_unit(const char *from, const char *to)
{
    static const char *const units[] = {"ms", "s", "sec", "secs", "seconds", "GB", "GiB", "MB", "MiB", "%", "it/s"};
    return is_word(from, to, units, sizeof units / sizeof *units);
}

/* Passes over a unit behind a number: "12ms", "66.9GiB(37%)", "112 ms", "(6.95)". False: what stands there makes it no
 * number, but a date, a time, a version. */
static bool skip_unit(const char **at, const char *end)
{
    const char *p = *at;
    while (p < end && (isalpha((unsigned char)*p) || *p == '%' || *p == '/') &&
           !(*p == '/' && p + 1 < end && assay_is_digit(p[1])))
        p++;
    if (p > *at && **at == '/' && p < end && (*p == '=' || *p == ':' || *p == '_')) /* "epoch=0/step=7" */
        p = *at;
    else if (p - *at == 1 && strchr("kKmMbBgGtT", **at)) /* 1.5k: nobody knows what it is times */
        return false;
    if (end - p > 1 && p[1] != ' ' && p[1] != '\t' && (strchr("-:._/", *p) || assay_is_digit(*p)) &&
        (p > *at || *p != '/' || assay_is_digit(p[1])))
        return false;
    const char *next = skip_blanks(p, end), *stop = next;
    while (stop < end && *stop != ' ' && !is_border(*stop) && *stop != '(')
        stop++;
    if (p == *at && next > p && stop > next && is_unit(next, stop))
        p = stop;
    *at = skip_parentheses(p, end);
    return true;
}

/* "1.2K", "3M" behind the name of a step: what the number is times, and passes over the letter. Of other figures nobody
 * knows what they are times. 1: it is no such step. */
static double take_thousands(const scan *s, const char **behind)
{
    static const char *const steps[] = {"step", "steps", "timesteps", "iter", "iteration", "iterations", "updates"};
    const metrics_pair named = {.name = s->words ? s->name[0] : "",
                                .length = s->words ? (size_t)(s->name_end - s->name[0]) : 0};
    const char letter = *behind < s->end ? **behind : ' ';
    const bool alone = *behind + 1 >= s->end || (*behind)[1] == ' ' || (*behind)[1] == '/' || is_border((*behind)[1]);
    if (!memchr("kKmMB", letter, 5) || !alone || !metrics_pair_is_called(&named, steps, sizeof steps / sizeof *steps))
        return 1;
    ++*behind;
    return letter == 'B' ? 1e9 : letter == 'k' || letter == 'K' ? 1e3 : 1e6;
}

/* "4h 36m 26s": does the number belong to a time that has several units? */
static bool is_of_time(const char *p, const char *end)
{
    const char *next = p < end && memchr("dhm", *p, 3) ? skip_blanks(p + 1, end) : p;
    if (next <= p || next == end || !assay_is_digit(*next))
        return false;
    while (next < end && (assay_is_digit(*next) || *next == '.'))
        next++;
    return next < end && memchr("hms", *next, 3) && (next + 1 == end || next[1] == ' ' || is_border(next[1]));
}

/* Does a time of the day come next? Then "03/24" is a date. */
static bool is_before_time(const char *p, const char *end)
{
    p = skip_blanks(p, end);
    return end - p > 2 && assay_is_digit(p[0]) && assay_is_digit(p[1]) && p[2] == ':';
}

/* "5.4 --> 2.4": does an arrow come next? Then the number before it was the figure until now. */
static bool is_before_arrow(const char *p, const char *end)
{
    p = skip_blanks(p, end);
    const char *head = p;
    while (head < end && (*head == '-' || *head == '='))
        head++;
    return head > p && head < end && *head == '>';
}

/* "3epoch:train:1-50batch": a number right before what it counts, of a range the number it goes to. False: there is none. */
static bool take_counted(scan *s)
{
    static const char *const counted[] = {"epoch", "batch", "iter", "step"};
    const char *from = s->p, *p = from;
    double value = 0;
    while (p < s->end && (assay_is_digit(*p) || (*p == '-' && p > from && from == s->p))) {
        from = *p == '-' ? p + 1 : from;
        p++;
    }
    const char *name = p;
    while (p < s->end && isalpha((unsigned char)*p))
        p++;
    if ((s->words > 0 && !s->set) || name == from || p == s->end || *p != ':' ||
        !is_word(name, p, counted, sizeof counted / sizeof *counted) || !take_double(from, name, &value))
        return false;
    drop_name(s);
    s->name[0] = name;
    s->name_end = p;
    s->words = 1;
    s->set = true;
    add_pair(s, value, -1, false, false);
    s->p = p + 1;
    return true;
}

/* "Train loss 100 0.53", "Validation loss 100: 0.51": a step between the name of the line's first loss and its value. False: it
 * is no such number. */
static bool take_step_between(scan *s, const char *behind)
{
    metrics_pair step = {.name = "step", .length = 4, .of = -1};
    const char *next = behind + (behind < s->end && *behind == ':'), *from = skip_blanks(next, s->end),
               *to = from > next ? number_end(from, s->end) : NULL;
    if (s->set || s->words == 0 || s->out->count > 0 || memchr(s->p, '.', (size_t)(behind - s->p)) || !to ||
        !memchr(from, '.', (size_t)(to - from)) || !take_double(s->p, behind, &step.value) ||
        !metrics_is_loss(s->name[0], (size_t)(s->name_end - s->name[0])))
        return false;
    metrics_pairs_add(s->out, &step);
    s->p = from;
    return true;
}

/* A number at the place, which is taken or passed over. False: there is none. */
static bool take_number(scan *s)
{
    const char *at = s->p, *end = s->end, *behind = number_end(at, end);
    double value = 0;
    if (!behind)
        return false;
    if (take_counted(s) || take_step_between(s, behind))
        return true;
    bool is = take_double(at, behind, &value);
    /* "3. lr 0.1", "3: loss 2.1": a list's, or a rank's */
    const bool listed =
        s->words == 0 && (behind[-1] == '.' || (end - behind > 1 && *behind == ':' && behind[1] == ' '));
    const char *point = memchr(at, '.', (size_t)(behind - at));
    const size_t places = point ? (size_t)(behind - point) - 1 : 0;
    const double times = take_thousands(s, &behind);
    const int64_t of = take_of(&behind, end);
    if (of >= 0 && times > 1) /* "2K/10K" */
        take_thousands(s, &behind);
    const bool share = behind < end && *behind == '%';
    if (share && end - behind > 1 && behind[1] == '|')
        s->out->bar = s->out->count;
    const bool lasts = is_of_time(behind, end);
    const size_t before = s->out->count;
    const char left = at > s->line ? at[-1] : ' ';
    const bool round = s->words == 0 && of >= 0 && (left == ':' || (left == '(' && behind < end && *behind == ')'));
    if (!is || lasts || !skip_unit(&behind, end)) {
        while (behind < end && *behind != ' ' && !is_border(*behind) && !is_quote(*behind))
            behind++;
        s->out->losses_left += is && s->words > 0 && metrics_is_loss(s->name[0], (size_t)(s->name_end - s->name[0]));
        is = false;
    }
    s->p = behind;
    s->point = point != NULL;
    if (is && !listed && !(s->words == 0 && is_before_time(behind, end)) && !is_before_arrow(behind, end))
        add_pair(s, times > 1 ? rint(value * times) : value, of, false, share);
    else
        drop_name(s);
    if (round && s->out->count > before)
        s->out->list[before].round = true;
    if (s->out->count > before)
        s->out->list[before].listed = behind < end && *behind == ',';
    if (times > 1 && s->out->count > before)
        s->out->list[before].rounded = times / 2 / pow(10, (double)places);
    return true;
}

/* ---- words ---- */

/* "step": [2, 100], an epoch and what it is within, as DLLogger writes it: the last number counts. False: it is no such list. */
static bool take_step_list(scan *s)
{
    static const char *const steps[] = {"step"};
    const char *close = memchr(s->p, ']', (size_t)(s->end - s->p)), *at = s->p + 1;
    double value = 0;
    size_t count = 0;
    if (!s->set || s->words != 1 || !close || !is_word(s->name[0], s->name_end, steps, 1))
        return false;
    for (const char *behind; at < close && (behind = number_end(at, close)) != NULL; count++) {
        if (!take_double(at, behind, &value))
            return false;
        at = skip_blanks(behind, close);
        at = at < close && *at == ',' ? skip_blanks(at + 1, close) : at;
    }
    if (count < 2 || at != close)
        return false;
    s->p = close + 1;
    add_pair(s, value, -1, false, false);
    return true;
}

/* Where a bracket ends that has a level and ranks, as "[INFO|DP=0|PP=0|TP=0]": they are no figures. NULL: it is another. */
static const char *end_of_prefix(const char *from, const char *end)
{
    static const char *const levels[] = {"INFO", "DEBUG", "WARNING", "ERROR"};
    const char *close = memchr(from, ']', (size_t)(end - from)),
               *bar = close ? memchr(from, '|', (size_t)(close - from)) : NULL;
    return bar && !memchr(from, ' ', (size_t)(close - from)) &&
                   is_word(from, bar, levels, sizeof levels / sizeof *levels)
               ? close + 1
               : NULL;
}

/* "[ 50/1251 (4%)]", "[3]" behind a name. What else stands in brackets is read as the rest of the line is; of a list
 * that has a name the first number is its value. */
static void take_bracket(scan *s)
{
    const char *at = skip_blanks(s->p + 1, s->end), *end = s->end;
    const char *behind = at < end && assay_is_digit(*at) ? number_end(at, end) : NULL;
    double value = 0;
    const bool number = behind && take_double(at, behind, &value);
    const int64_t of = number ? take_of(&behind, end) : -1;
    const char *prefix = number ? NULL : end_of_prefix(at, end);
    if (prefix) {
        drop_name(s);
        s->p = prefix;
        return;
    }
    behind = number ? skip_parentheses(behind, end) : NULL;
    if (number && behind < end && *behind == ']') {
        s->p = behind + 1;
        add_pair(s, value, of, true, false);
        return;
    }
    s->p++;
    s->brackets++;
    if (!s->set)
        drop_name(s);
}

/* Does a letter beyond ASCII begin with the byte? Those of bars (U+2000 to U+2FFF) are none. */
static bool is_letter_of_others(unsigned char byte)
{
    return byte >= 0xc3 && byte != 0xe2;
}

/* What Python prints around a number: "tensor(0.5, device='cuda:0')", "np.float64(0.5)". Its length; 0: it is none. */
static size_t wrapper(const char *from, const char *to)
{
    static const char *const names[] = {"tensor(",      "np.float64(", "np.float32(", "np.float16(",
                                        "DeviceArray(", "array(",      "Array("};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((size_t)(to - from) > strlen(names[i]) && memcmp(from, names[i], strlen(names[i])) == 0)
            return strlen(names[i]);
    return 0;
}

static void take_word(scan *s)
{
    static const char *const none[] = {"INFO", "DEBUG", "WARNING", "ERROR", "None", "null", "n/a"};
    const char *from = s->p;
    bool letters = false;
    double value = 0;
    while (s->p < s->end && *s->p != ' ' && *s->p != ':' && *s->p != '=' && !is_border(*s->p) && !is_quote(*s->p)) {
        letters = letters || isalnum((unsigned char)*s->p) || is_letter_of_others((unsigned char)*s->p);
        s->p++;
    }
    const size_t wrapped = s->words > 0 ? wrapper(from, s->p) : 0;
    if (wrapped > 0) {
        s->p = from + wrapped;
        if (take_number(s) && s->p < s->end && *s->p == ',') { /* "device='cuda:0', ...)" */
            const char *close = memchr(s->p, ')', (size_t)(s->end - s->p));
            s->p = close ? close + 1 : s->end;
        }
        return;
    }
    while (from < s->p && *from == '/') /* "epoch=0/step=1" */
        from++;
    const bool named = s->words > 0 && (s->set || metrics_is_loss(s->name[0], (size_t)(s->name_end - s->name[0])));
    const char *to = s->p;
    while (to > from && to[-1] == ')' && metrics_non_finite(from, (size_t)(to - from), &value) < (size_t)(to - from))
        to--;
    if (named && metrics_number(from, (size_t)(to - from), &value) && !isfinite(value) &&
        !is_before_arrow(s->p, s->end))
        add_pair(s, value, -1, false, false);
    else if (s->set &&
             is_word(from, s->p, none, sizeof none / sizeof *none)) /* "val: n/a" says nothing of what follows */
        forget_name(s);
    else if (!letters || is_word(from, s->p, none, sizeof none / sizeof *none))
        drop_name(s);
    else if (is_copula(s, from, s->p))
        s->set = true;
    else if (!(s->brackets && s->words == 0 && s->p < s->end && *s->p == ':')) /* "[file.c:12]" */
        add_word(s, from, s->p);
}

static void take_next(scan *s)
{
    const char c = *s->p;
    if (c == '[') {
        if (!take_step_list(s))
            take_bracket(s);
    } else if (c == ' ' || c == '(' || c == '<' || is_quote(c)) { /* "<epoch:271, lr:1e-4> loss: 0.5" */
        s->p++;
    } else if (c == ':' || c == '=') {
        s->set = s->words > 0;
        s->p++;
    } else if (is_border(c)) {
        s->out->object = s->out->object || c == '{';
        s->brackets -= c == ']' && s->brackets > 0;
        drop_name(s);
        s->p++;
    } else if (!take_number(s)) {
        take_word(s);
    }
}

void metrics_pairs_clear(metrics_pairs *pairs)
{
    pairs->count = pairs->used = pairs->bar = 0;
    pairs->left = pairs->losses_left = 0;
    pairs->object = pairs->data = false;
    pairs->mode = 0;
    pairs->numbered = (metrics_pair){.name = "", .value = -1, .of = -1};
}

/* Where a line goes on behind the place in the program that loguru writes before it: "... | INFO     | __main__:train:35 - loss:
 * 2.5". The line's begin where there is none. */
static const char *behind_place(const char *line, const char *end)
{
    const char *p = line;
    for (unsigned bars = 0; bars < 2 && p; bars++) {
        p = memmem(p, (size_t)(end - p), "| ", 2);
        p = p ? p + 2 : NULL;
    }
    const char *dash = p ? memmem(p, (size_t)(end - p), " - ", 3) : NULL, *digits = dash;
    while (digits && digits > p && assay_is_digit(digits[-1]))
        digits--;
    if (!dash || digits == dash || digits == p || digits[-1] != ':' || !memchr(p, ':', (size_t)(digits - 1 - p)) ||
        memchr(p, ' ', (size_t)(dash - p)))
        return line;
    return dash + 3;
}

void metrics_pairs_take(metrics_pairs *pairs, const char *line, size_t length)
{
    const char *message = behind_place(line, line + length);
    length -= (size_t)(message - line);
    line = message;
    scan s = {.out = pairs, .line = line, .p = line, .end = line + length};
    metrics_pairs_clear(pairs);
    while (s.p < s.end)
        take_next(&s);
}

bool metrics_pair_number(const char *text, size_t length, double *value, int64_t *of)
{
    const char *end = text + length, *behind = number_end(text, end);
    if (behind && take_double(text, behind, value)) {
        *of = take_of(&behind, end);
        if (behind == end)
            return true;
    }
    *of = -1;
    return metrics_number(text, length, value) && !isfinite(*value);
}
