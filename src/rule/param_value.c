/* param_value.c - one parameter value from SageMaker's string form or from JSON, checked against its definition. */
#include "rule/params.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fault.h"
#include "base/regex.h"

static const char BLANKS[] = " \t\r\n\f\v";

void assay_param_release(assay_param_value *value)
{
    for (size_t i = 0; value->item && i < value->count; i++)
        free(value->item[i]);
    free(value->item);
    free(value->number);
    *value = (assay_param_value){0};
}

static bool in_range(const assay_param_def *def, double x)
{
    if (isnan(x))
        return false;
    if (def->least == 0 && def->most == 0)
        return true;
    bool low = (def->flags & ASSAY_PARAM_ABOVE) ? x > def->least : x >= def->least;
    bool high = (def->flags & ASSAY_PARAM_BELOW) ? x < def->most : x <= def->most;
    return low && high;
}

static int check_range(const assay_param_def *def, double x, assay_error *err)
{
    if (in_range(def, x))
        return ASSAY_OK;
    if (def->least == 0 && def->most == 0)
        return assay_fail(err, ASSAY_EPARAM, "it must be a number");
    const char *low = (def->flags & ASSAY_PARAM_ABOVE) ? "above" : "at least";
    const char *high = (def->flags & ASSAY_PARAM_BELOW) ? "below" : "at most";
    /* A bound beyond all numbers is not shown. */
    if (def->most >= 1e300 || (def->type == ASSAY_PARAM_INT && def->most >= 0x1p62))
        return assay_fail(err, ASSAY_EPARAM, "it must be %s %.15g", low, def->least);
    return assay_fail(err, ASSAY_EPARAM, "it must be %s %.15g and %s %.15g", low, def->least, high, def->most);
}

/* A decimal number and nothing else, as Python's float() reads it; blanks around it are fine. SageMaker's jobs give
 * numbers as texts, which Python's float() reads. */
static bool parse_number(const char *text, double *out)
{
    text += strspn(text, BLANKS);
    const char *digits = text + (*text == '+' || *text == '-');
    bool named = strncasecmp(digits, "inf", 3) == 0 || strncasecmp(digits, "nan", 3) == 0;
    size_t span = strspn(text, named ? "+-infatyINFATY" : "+-0123456789.eE");
    if (span == 0 || text[span + strspn(text + span, BLANKS)] != '\0')
        return false;
    char *end;
    *out = strtod(text, &end);
    return end == text + span;
}

/* "1e3" and "10.0" are whole numbers for it, too. */
static bool parse_integer(const char *text, int64_t *out)
{
    text += strspn(text, BLANKS);
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (end != text && errno == 0 && end[strspn(end, BLANKS)] == '\0') {
        *out = n;
        return true;
    }
    double x;
    /* Beyond 2^53 a double may not be the number that was written. */
    if (errno == ERANGE || !parse_number(text, &x) || x != floor(x) || fabs(x) > 0x1p53)
        return false;
    *out = (int64_t)x;
    return true;
}

/* Room for one more item; the lists are short, so they grow one by one. */
static int add_item(assay_param_value *value, const char *text, size_t length, assay_error *err)
{
    char *copy = assay_copy_bytes_as_text(text, length);
    char **item = copy ? assay_realloc_array(value->item, value->count + 1, sizeof *item) : NULL;
    if (!item) {
        free(copy);
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    }
    value->item = item;
    value->item[value->count++] = copy;
    return ASSAY_OK;
}

static int add_number(const assay_param_def *def, assay_param_value *value, double x, assay_error *err)
{
    int status = check_range(def, x, err);
    if (status)
        return status;
    double *number = assay_realloc_array(value->number, value->count + 1, sizeof *number);
    if (!number)
        return assay_fail(err, ASSAY_ENOMEM, "out of memory");
    value->number = number;
    value->number[value->count++] = x;
    return ASSAY_OK;
}

/* One element of a LIST, REGEX or REALS. */
static int add_element(const assay_param_def *def, assay_param_value *value, const char *text, size_t length,
                       assay_error *err)
{
    if (length == 0)
        return assay_fail(err, ASSAY_EPARAM,
                          "it has an empty element; leave the parameter out to select nothing by it");
    int status = ASSAY_OK;
    if (def->type == ASSAY_PARAM_REALS) {
        double x;
        char *copy = assay_copy_bytes_as_text(text, length);
        if (!copy)
            return assay_fail(err, ASSAY_ENOMEM, "out of memory");
        status = parse_number(copy, &x) ? add_number(def, value, x, err)
                                        : assay_fail(err, ASSAY_EPARAM, "\"%.60s\" is no number", copy);
        free(copy);
        return status;
    }
    status = add_item(value, text, length, err);
    /* Compiled once to find mistakes in the job file; the need compiles it again for use. */
    if (status == ASSAY_OK && def->type == ASSAY_PARAM_REGEX) {
        assay_regex *regex = NULL;
        assay_error detail = {{0}};
        status = assay_regex_new(value->item[value->count - 1], &regex, &detail);
        assay_regex_free(regex);
        if (status)
            return assay_fail(err, status == ASSAY_ENOMEM ? status : ASSAY_EPARAM, "%s", detail.text);
    }
    return status;
}

/* Texts have commas between elements, as SageMaker has it; a pattern with a comma has to come in a JSON list. */
static int from_list_text(const assay_param_def *def, const char *text, assay_param_value *value, assay_error *err)
{
    int status = ASSAY_OK;
    while (status == ASSAY_OK) {
        size_t length = strcspn(text, ",");
        status = add_element(def, value, text, length, err);
        if (text[length] == '\0')
            break;
        text += length + 1;
    }
    return status;
}

static int from_choice(const assay_param_def *def, const char *text, assay_param_value *value, assay_error *err)
{
    static const char mode_key[] = "Step:ModeKeys.";
    const bool is_key = def->flags & ASSAY_PARAM_MODE_KEY;
    if (is_key && strncasecmp(text, mode_key, sizeof mode_key - 1) == 0)
        text += sizeof mode_key - 1;
    size_t length = strlen(text);
    /* Walks over "A|B|C" without cutting it. */
    for (const char *at = def->choices; length && at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (strcspn(at, "|") == length && (is_key ? strncasecmp(at, text, length) : memcmp(at, text, length)) == 0)
            return add_item(value, at, length, err);
    return assay_fail(err, ASSAY_EPARAM, "it must be one of %s", def->choices);
}

static int from_integer(const assay_param_def *def, int64_t n, assay_param_value *value, assay_error *err)
{
    value->integer = n;
    return check_range(def, (double)n, err);
}

int assay_param_from_text(const assay_param_def *def, const char *text, assay_param_value *value, assay_error *err)
{
    int status = ASSAY_OK;
    switch (def->type) {
    case ASSAY_PARAM_BOOL:
        value->truth = strcmp(text, "True") == 0 || strcmp(text, "true") == 0;
        if (!value->truth && strcmp(text, "False") != 0 && strcmp(text, "false") != 0)
            status = assay_fail(err, ASSAY_EPARAM, "it must be True, true, False or false");
        break;
    case ASSAY_PARAM_INT:
        status = parse_integer(text, &value->integer) ? from_integer(def, value->integer, value, err)
                                                      : assay_fail(err, ASSAY_EPARAM, "it must be a whole number");
        break;
    case ASSAY_PARAM_REAL:
        status = parse_number(text, &value->real) ? check_range(def, value->real, err)
                                                  : assay_fail(err, ASSAY_EPARAM, "it must be a number");
        break;
    case ASSAY_PARAM_TEXT:
        status = *text ? add_item(value, text, strlen(text), err)
                       : assay_fail(err, ASSAY_EPARAM, "it must not be empty; leave it out instead");
        break;
    case ASSAY_PARAM_CHOICE:
        status = from_choice(def, text, value, err);
        break;
    case ASSAY_PARAM_LIST:
    case ASSAY_PARAM_REALS:
    case ASSAY_PARAM_REGEX:
        status = from_list_text(def, text, value, err);
        break;
    }
    value->has = status == ASSAY_OK;
    return status;
}

static int from_array(const assay_param_def *def, const cJSON *list, assay_param_value *value, assay_error *err)
{
    bool numbers = def->type == ASSAY_PARAM_REALS;
    if (!numbers && def->type != ASSAY_PARAM_LIST && def->type != ASSAY_PARAM_REGEX)
        return assay_fail(err, ASSAY_EPARAM, "it takes one value, not a list");
    const cJSON *item;
    int status = cJSON_GetArraySize(list) ? ASSAY_OK : assay_fail(err, ASSAY_EPARAM, "the list is empty");
    cJSON_ArrayForEach(item, list)
    {
        if (status)
            break;
        if (cJSON_IsString(item))
            status = add_element(def, value, item->valuestring, strlen(item->valuestring), err);
        else if (numbers && cJSON_IsNumber(item))
            status = add_number(def, value, item->valuedouble, err);
        else
            status = assay_fail(err, ASSAY_EPARAM, "it must be a list of %s", numbers ? "numbers" : "texts");
    }
    value->has = status == ASSAY_OK;
    return status;
}

static int from_json_number(const assay_param_def *def, const cJSON *item, assay_param_value *value, assay_error *err)
{
    int status;
    if (def->type == ASSAY_PARAM_REAL) {
        value->real = item->valuedouble;
        status = check_range(def, value->real, err);
    } else if (def->type == ASSAY_PARAM_REALS) {
        status = add_number(def, value, item->valuedouble, err);
    } else if (def->type == ASSAY_PARAM_INT) {
        int64_t n;
        status = assay_json_i64(item, &n) ? from_integer(def, n, value, err)
                                          : assay_fail(err, ASSAY_EPARAM, "it must be a whole number");
    } else {
        status = assay_fail(err, ASSAY_EPARAM, "it must be %s, not a number",
                            def->type == ASSAY_PARAM_BOOL ? "true or false" : "a text");
    }
    value->has = status == ASSAY_OK;
    return status;
}

int assay_param_from_json(const assay_param_def *def, const cJSON *item, assay_param_value *value, assay_error *err)
{
    if (cJSON_IsString(item))
        return assay_param_from_text(def, item->valuestring, value, err);
    if (cJSON_IsArray(item))
        return from_array(def, item, value, err);
    if (cJSON_IsNumber(item))
        return from_json_number(def, item, value, err);
    if (!cJSON_IsBool(item))
        return assay_fail(err, ASSAY_EPARAM, "it must be a text, a number, a boolean or a list");
    if (def->type != ASSAY_PARAM_BOOL)
        return assay_fail(err, ASSAY_EPARAM, "it must not be a boolean");
    value->truth = cJSON_IsTrue(item);
    value->has = true;
    return ASSAY_OK;
}
