/* words.c - what names and printed numbers mean. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fault.h"
#include "base/json_pull.h"
#include "format/metrics/series.h"

static bool is_border(char c)
{
    return c == '/' || c == '_' || c == '.' || c == '-' || c == ' ';
}

bool metrics_is_among(const char *const *words, size_t count, const char *word, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(words[i]) == length && strncasecmp(words[i], word, length) == 0)
            return true;
    return false;
}

bool metrics_is_train_word(const char *word, size_t length)
{
    static const char *const words[] = {"train", "training", "learn"};
    return metrics_is_among(words, sizeof words / sizeof *words, word, length);
}

bool metrics_is_eval_word(const char *word, size_t length)
{
    static const char *const words[] = {"eval", "evaluation", "val", "valid", "validation", "dev", "crossval"};
    return metrics_is_among(words, sizeof words / sizeof *words, word, length);
}

bool metrics_is_predict_word(const char *word, size_t length)
{
    static const char *const words[] = {"test", "predict", "prediction"};
    return metrics_is_among(words, sizeof words / sizeof *words, word, length);
}

bool metrics_is_reward_word(const char *word, size_t length)
{
    static const char *const words[] = {"reward", "rewards", "rew", "return", "returns"};
    static const char *const ends[] = {"Reward", "Rewards", "Return", "Returns", "EpRet"}; /* "AverageReturn" */
    bool is = metrics_is_among(words, sizeof words / sizeof *words, word, length);
    for (size_t i = 0; i < sizeof ends / sizeof *ends && !is; i++)
        is = length > strlen(ends[i]) && memcmp(word + length - strlen(ends[i]), ends[i], strlen(ends[i])) == 0;
    return is;
}

/* What Ultralytics writes of its validation without saying so. */
static bool is_validation_name(const char *tag, size_t length)
{
    static const char *const names[] = {"metrics/precision(B)", "metrics/recall(B)",     "metrics/mAP50(B)",
                                        "metrics/mAP50-95(B)",  "metrics/accuracy_top1", "metrics/accuracy_top5"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *letter = strchr(names[i], '(');
        if (strlen(names[i]) != length)
            continue;
        if (!letter && memcmp(names[i], tag, length) == 0)
            return true;
        const size_t at = letter ? (size_t)(letter - names[i]) + 1 : 0; /* B boxes, M masks, P poses */
        if (letter && memcmp(names[i], tag, at) == 0 && tag[at] >= 'A' && tag[at] <= 'Z' && tag[at + 1] == ')')
            return true;
    }
    return false;
}

void metrics_words(const char *tag, size_t length, metrics_word_visit *visit, void *context)
{
    for (size_t i = 0; i < length;) {
        size_t end = i;
        while (end < length && !is_border(tag[end]))
            end++;
        if (end > i)
            visit(context, tag + i, end - i);
        i = end + 1;
    }
}

typedef struct modes_said {
    bool eval, predict;
} modes_said;

static void note_mode(void *context, const char *word, size_t length)
{
    modes_said *said = context;
    said->eval = said->eval || metrics_is_eval_word(word, length);
    said->predict = said->predict || metrics_is_predict_word(word, length);
}

int metrics_mode_of(const char *tag, size_t length)
{
    modes_said said = {0};
    metrics_words(tag, length, note_mode, &said);
    if (said.eval || is_validation_name(tag, length))
        return ASSAY_MODE_EVAL;
    return said.predict ? ASSAY_MODE_PREDICT : ASSAY_MODE_TRAIN;
}

/* A decimal number without its sign; false when the text is none. */
static bool decimal(const char *text, size_t length, double *value)
{
    uint64_t digits = 0;
    int64_t scale = 0, exponent = 0;
    size_t i = 0, count = 0;
    bool point = false, exact = true;
    for (; i < length; i++) {
        if (text[i] == '.' && !point) {
            point = true;
            continue;
        }
        if (text[i] < '0' || text[i] > '9')
            break;
        count++;
        if (digits < UINT64_C(100000000000000000)) {
            digits = 10 * digits + (uint64_t)(text[i] - '0');
            scale -= point;
        } else {
            exact = false;
        }
    }
    if (count == 0)
        return false;
    if (i < length && (text[i] == 'e' || text[i] == 'E')) {
        const bool negative = i + 1 < length && text[i + 1] == '-';
        i += 1 + (i + 1 < length && (text[i + 1] == '-' || text[i + 1] == '+'));
        if (i == length)
            return false;
        for (; i < length && text[i] >= '0' && text[i] <= '9'; i++)
            exponent = exponent < 100000 ? 10 * exponent + (text[i] - '0') : exponent;
        scale += negative ? -exponent : exponent;
    }
    if (i < length)
        return false;
    if (exact && scale <= 0 && scale >= -ASSAY_DECIMAL_PLACES) {
        *value = assay_decimal(digits, (unsigned)-scale);
        return true;
    }
    char room[128]; /* rare: the library rounds what has more digits or an exponent */
    char *copy = length < sizeof room ? room : assay_alloc(length + 1);
    if (!copy)
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    *value = strtod(copy, NULL);
    if (copy != room)
        free(copy);
    return true;
}

/* C prints "nan(ind)", "-nan", and Windows' old library "1.#QNAN" with as many zeros as it was asked for digits. */
size_t metrics_non_finite(const char *text, size_t length, double *value)
{
    static const struct {
        const char *word;
        double value;
    } words[] = {{"infinity", INFINITY}, {"inf", INFINITY}, {"nan", NAN},    {"1.#QNAN", NAN},
                 {"1.#SNAN", NAN},       {"1.#IND", NAN},   {"1.#NAN", NAN}, {"1.#INF", INFINITY}};
    const size_t sign = length > 0 && (*text == '-' || *text == '+');
    if (length < sign + 3 || (!strchr("nNiI", text[sign]) && text[sign + 2] != '#'))
        return 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t end = sign + strlen(words[i].word);
        if (end > length || strncasecmp(text + sign, words[i].word, end - sign) != 0)
            continue;
        if (*words[i].word == '1')
            while (end < length && text[end] == '0')
                end++;
        const char *close = end < length && text[end] == '(' ? memchr(text + end, ')', length - end) : NULL;
        bool kind = close && isnan(words[i].value);
        for (const char *p = text + end + 1; kind && p < close; p++)
            kind = isalnum((unsigned char)*p) || *p == '_';
        *value = *text == '-' ? -words[i].value : words[i].value;
        return kind ? (size_t)(close + 1 - text) : end;
    }
    return 0;
}

bool metrics_number(const char *text, size_t length, double *value)
{
    if ((length == 4 && memcmp(text, "True", 4) == 0) || (length == 5 && memcmp(text, "False", 5) == 0)) {
        *value = length == 4;
        return true;
    }
    const size_t sign = length > 0 && (*text == '-' || *text == '+');
    if (decimal(text + sign, length - sign, value)) {
        *value = *text == '-' ? -*value : *value;
        return true;
    }
    return length > 0 && metrics_non_finite(text, length, value) == length;
}

bool metrics_step_of(double value, int64_t *step)
{
    if (!isfinite(value) || value != trunc(value))
        return false;
    *step = value < 0 || value >= (double)METRICS_STEP_END ? -1 : (int64_t)value;
    return true;
}

static bool stands_at(const char *tag, size_t length, size_t at, const char *text)
{
    return length - at >= strlen(text) && memcmp(tag + at, text, strlen(text)) == 0;
}

/* Behind "loss": what is counted, summed or weighed by it is no loss. */
static bool is_about_loss(const char *rest, size_t length)
{
    static const char *const words[] = {"sum",     "count", "num",   "std",   "weight",
                                        "weights", "coef",  "coeff", "token", "tokens"};
    size_t end = 1;
    if (length < 2 || (*rest != ' ' && *rest != '_' && *rest != '-'))
        return false;
    while (end < length && isalpha((unsigned char)rest[end]))
        end++;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == end - 1 && strncasecmp(rest + 1, words[i], 1) == 0 &&
            memcmp(rest + 2, words[i] + 1, end - 2) == 0)
            return true;
    return false;
}

/* Does a word stand there that makes what follows the best value so far: "best_loss", "min val loss", "bestLoss"? */
static bool is_record_word(const char *tag, size_t length, size_t at)
{
    static const char *const words[] = {"best", "lowest", "min"};
    if (at > 0 && !strchr("/_ .-", tag[at - 1]))
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t own = strlen(words[i]);
        if (length - at > own && strncasecmp(tag + at, words[i], 1) == 0 &&
            memcmp(tag + at + 1, words[i] + 1, own - 1) == 0 &&
            (strchr("/_ .-", tag[at + own]) || isupper((unsigned char)tag[at + own])))
            return true;
    }
    return false;
}

/* The pattern of the collection `losses` (catalog.c), without its search. */
bool metrics_is_loss(const char *tag, size_t length)
{
    bool found = false, record = false; /* a record is infinite until there is one */
    for (size_t i = 0; i < length; i++) {
        if ((length - i >= 3 && strncasecmp(tag + i, "ppl", 3) == 0) || stands_at(tag, length, i, "vs samples") ||
            ((tag[i] == 'p' || tag[i] == 'P') && stands_at(tag, length, i + 1, "erplexity")))
            return false;
        record = record || is_record_word(tag, length, i);
        const bool capitals = length - i >= 4 && memcmp(tag + i, "LOSS", 4) == 0;
        if (length - i < 4 || (tag[i] != 'l' && tag[i] != 'L') || (memcmp(tag + i + 1, "oss", 3) != 0 && !capitals))
            continue;
        if (record)
            return false;
        size_t next = i + 4;
        if (next < length &&
            ((tag[next] >= 'a' && tag[next] <= 'z') || (capitals && isalpha((unsigned char)tag[next]))))
            continue;
        if (is_about_loss(tag + next, length - next))
            continue;
        next += next < length && (tag[next] == ' ' || tag[next] == '_' || tag[next] == '-');
        found = found || length - next < 5 || (tag[next] != 's' && tag[next] != 'S') ||
                (memcmp(tag + next + 1, "cale", 4) != 0 && memcmp(tag + next + 1, "CALE", 4) != 0);
    }
    return found;
}
