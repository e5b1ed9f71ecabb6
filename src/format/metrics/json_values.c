/* json_values.c - numbers and settings in JSON texts that loggers write. */
#include <string.h>

#include "format/metrics/metrics.h"

/* NaN and the infinities without quotes: "NaN" as Python writes them into JSON, "nan" as what prints it by itself. */
static bool take_bare(assay_pull *pull, double *value)
{
    assay_pull_peek(pull);
    const char *text = (const char *)pull->at, *end = (const char *)pull->end;
    const size_t length = metrics_non_finite(text, (size_t)(end - text), value);
    if (length == 0 || (text + length < end && !strchr(" \t\r\n,]}", text[length])))
        return false;
    pull->at += length;
    return true;
}

/* Is the text one of those that mean a number that is not finite? */
static bool is_kin(const char *text, size_t length, double *value)
{
    const char first = length > 0 && (*text == '-' || *text == '+') ? (length > 1 ? text[1] : '\0')
                       : length                                     ? *text
                                                                    : '\0';
    return (first == 'n' || first == 'N' || first == 'i' || first == 'I') && metrics_number(text, length, value);
}

metrics_scalar metrics_json_scalar(assay_pull *pull, double *value)
{
    const char *text = NULL;
    size_t length = 0;
    int literal = 0;
    if (take_bare(pull, value))
        return METRICS_NUMBER;
    switch (assay_pull_peek(pull)) {
    case '"':
        if (!assay_pull_string(pull, &text, &length))
            return METRICS_DAMAGED;
        return is_kin(text, length, value) ? METRICS_NUMBER : METRICS_TEXT;
    case 't':
    case 'f':
    case 'n':
        if (!assay_pull_literal(pull, &literal))
            return METRICS_DAMAGED;
        *value = literal;
        return literal < 0 ? METRICS_NULL : METRICS_NUMBER;
    case '{':
    case '[':
        return METRICS_OTHER;
    default:
        return assay_pull_number(pull, value) ? METRICS_NUMBER : METRICS_DAMAGED;
    }
}

/* Passes over a value, in which bare NaN may stand. Brackets match, as the pull scanner's depth allows. */
static bool skip_value(assay_pull *pull)
{
    unsigned depth = 0;
    do {
        const char c = assay_pull_peek(pull);
        double number = 0;
        if (c == '{' || c == '[') {
            if (++depth > ASSAY_PULL_DEPTH)
                return assay_pull_fault(pull, pull->at, "nested too deeply");
            pull->at++;
        } else if (c == '}' || c == ']') {
            if (depth-- == 0)
                return assay_pull_fault(pull, pull->at, "a bracket that opens nothing");
            pull->at++;
        } else if ((c == ',' || c == ':') && depth > 0) {
            pull->at++;
        } else {
            const metrics_scalar scalar = metrics_json_scalar(pull, &number);
            if (scalar == METRICS_DAMAGED)
                return false;
        }
    } while (depth > 0);
    return true;
}

/* Does the object that begins there have a member _type? The scanner stays where it is. */
static bool has_type(const assay_pull *at)
{
    assay_pull look = *at;
    const char *key = NULL;
    size_t length = 0;
    bool found = false;
    look.decoded = NULL; /* a scanner of its own, as far as escapes go */
    look.decoded_size = look.decoded_room = 0;
    for (bool more = assay_pull_open(&look, '{', '}'); more && !found; more = assay_pull_more(&look, '}')) {
        if (!assay_pull_key(&look, &key, &length))
            break;
        found = length == 5 && memcmp(key, "_type", 5) == 0;
        if (!found && !skip_value(&look))
            break;
    }
    assay_pull_release(&look);
    return found;
}

static bool put_object(metrics_json *j, unsigned depth);

/* Was the tag put before? If not, a summary has a value more. */
static bool has_history(const metrics_json *j)
{
    const bool has = j->length <= METRICS_TAG_MOST && assay_dict_find(j->log->tags, j->tag, j->length) != ASSAY_NO_ID;
    if (!has)
        metrics_add(j->log, METRICS_SUMMARY);
    return has;
}

static bool put_value(metrics_json *j, unsigned depth)
{
    double value = 0;
    const metrics_scalar scalar = metrics_json_scalar(j->pull, &value);
    if (scalar == METRICS_TEXT)
        metrics_add(j->log, METRICS_TEXTS);
    else if (scalar == METRICS_NUMBER && j->status == ASSAY_OK && !(j->summary && has_history(j)))
        j->status = metrics_put(j->log, j->tag, j->length, j->mode, j->step, value);
    if (scalar != METRICS_OTHER)
        return scalar != METRICS_DAMAGED;
    if (assay_pull_peek(j->pull) == '{' && depth < ASSAY_PULL_DEPTH && !(j->typed && has_type(j->pull)))
        return put_object(j, depth + 1);
    metrics_add(j->log, METRICS_OTHER_VALUES);
    return skip_value(j->pull);
}

static bool put_object(metrics_json *j, unsigned depth)
{
    const size_t kept = j->length;
    for (bool more = assay_pull_open(j->pull, '{', '}'); more; more = assay_pull_more(j->pull, '}')) {
        const char *key = NULL;
        size_t length = 0;
        if (!assay_pull_key(j->pull, &key, &length))
            return false;
        const size_t dot = kept > 0;
        if (kept + dot + length <= sizeof j->tag) {
            if (dot)
                j->tag[kept] = '.';
            memcpy(j->tag + kept + dot, key, length);
            j->length = kept + dot + length;
        } else {
            j->length = sizeof j->tag; /* too long for a name in any case */
        }
        const bool sound = put_value(j, depth);
        j->length = kept;
        if (!sound)
            return false;
    }
    return j->pull->fault == NULL;
}

bool metrics_json_sound(assay_pull *pull)
{
    return skip_value(pull) && assay_pull_end(pull) && pull->fault == NULL;
}

bool metrics_json_skip(metrics_json *json)
{
    return skip_value(json->pull);
}

bool metrics_json_value(metrics_json *json)
{
    return put_value(json, 0);
}

/* ---- settings ---- */

/* A value as it stands, without the blanks between its parts. */
static int put_compact(metrics_log *log, const char *name, const char *from, size_t size)
{
    assay_buf text;
    bool within = false; /* a string */
    assay_buf_init(&text, SIZE_MAX);
    for (size_t i = 0; i < size; i++) {
        const char c = from[i];
        if (!within && (c == ' ' || c == '\n' || c == '\t' || c == '\r'))
            continue;
        assay_put_u8(&text, (uint8_t)c);
        if (within && c == '\\' && i + 1 < size)
            assay_put_u8(&text, (uint8_t)from[++i]);
        else
            within = within != (c == '"');
    }
    int status = assay_buf_status(&text);
    ASSAY_THEN(status, metrics_fact(log, name, (const char *)text.data, text.size));
    assay_buf_release(&text);
    return status;
}

static int put_setting(metrics_log *log, const char *name, size_t length, assay_pull *pull, unsigned depth, bool *sound)
{
    char deeper[1024];
    const char *text = NULL;
    size_t size = 0;
    const char c = assay_pull_peek(pull);
    if (c == '{' && depth < ASSAY_PULL_DEPTH) {
        int status = ASSAY_OK;
        for (bool more = assay_pull_open(pull, '{', '}'); more && status == ASSAY_OK;
             more = assay_pull_more(pull, '}')) {
            *sound = assay_pull_key(pull, &text, &size);
            if (!*sound)
                return ASSAY_OK;
            const bool fits = length + 1 + size < sizeof deeper;
            memcpy(deeper, name, length);
            deeper[length] = '.';
            if (fits)
                memcpy(deeper + length + 1, text, size);
            if (fits && length + 1 + size < 512)
                status = put_setting(log, deeper, length + 1 + size, pull, depth + 1, sound);
            else
                *sound = skip_value(pull);
            if (!*sound)
                return status;
        }
        *sound = pull->fault == NULL;
        return status;
    }
    memcpy(deeper, name, length);
    deeper[length] = '\0';
    if (c == '"') {
        *sound = assay_pull_string(pull, &text, &size);
        return *sound ? metrics_fact(log, deeper, text, size) : ASSAY_OK;
    }
    const char *from = pull->at;
    *sound = skip_value(pull);
    const size_t taken = (size_t)(pull->at - from);
    if (!*sound || (taken == 4 && memcmp(from, "null", 4) == 0))
        return ASSAY_OK;
    return put_compact(log, deeper, from, taken);
}

int metrics_json_settings(metrics_log *log, const char *prefix, assay_pull *pull, bool *sound)
{
    *sound = true;
    return put_setting(log, prefix, strlen(prefix), pull, 0, sound);
}
