/* settings.c - reads values by the tables of settings.h, from texts and from JSON. */
#include "base/settings.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

const assay_setting *assay_setting_find(const assay_setting *table, const char *name, size_t length)
{
    for (const assay_setting *s = table; s->name; s++)
        if (strlen(s->name) == length && memcmp(s->name, name, length) == 0)
            return s;
    return NULL;
}

void assay_settings_offer(const assay_setting *table, assay_nearest *nearest)
{
    for (const assay_setting *s = table; s->name; s++)
        assay_nearest_offer(nearest, s->name);
}

/* ---- from a text ---- */

static bool has_range(const assay_setting *s)
{
    return s->least != 0 || s->most != 0;
}

static bool parse_integer(const char *text, const char **end, int64_t *out)
{
    char *stop;
    if ((*text < '0' || *text > '9') && *text != '-')
        return false;
    errno = 0;
    const long long value = strtoll(text, &stop, 10);
    if (errno || stop == text)
        return false;
    *end = stop;
    *out = value;
    return true;
}

static bool set_count(const assay_setting *s, int64_t value, void *member)
{
    /* Members are size_t or uint32_t: nothing else counts. */
    const size_t size = s->size ? s->size : sizeof(size_t);
    const uint64_t wide = (uint64_t)value;
    const uint32_t narrow = (uint32_t)value;
    /* Without a range a count is at least 1; 0 is given by its own range. */
    if (has_range(s) ? (double)value < s->least || (double)value > s->most : value < 1)
        return false;
    if (size == sizeof narrow)
        memcpy(member, &narrow, size);
    else
        memcpy(member, &wide, size);
    return true;
}

static bool set_real(const assay_setting *s, double value, void *member)
{
    const bool fits = has_range(s) ? value >= s->least && value <= s->most : isfinite(value) && value >= 0;
    if (fits)
        memcpy(member, &value, sizeof value);
    return fits;
}

static bool take_size(const assay_setting *s, const char *text, size_t *out)
{
    /* Letters of either case, "Ki", "KiB" and "KB" alike: all are powers of 1024. */
    static const char units[] = "KMGT";
    const char *end;
    int64_t value;
    if (!parse_integer(text, &end, &value) || value < 1)
        return false;
    const char *unit = *end ? strchr(units, *end & ~0x20) : NULL;
    uint64_t bytes = (uint64_t)value;
    if (unit) {
        const unsigned shift = 10 * (unsigned)(unit - units + 1);
        /* An overflow is refused, not cut: --memory 99999999999T is an error. */
        if (bytes > SIZE_MAX >> shift)
            return false;
        bytes <<= shift;
        end++;
        end += *end == 'i';
        end += *end == 'B';
    }
    if (*end || (double)bytes < s->least)
        return false;
    *out = (size_t)bytes;
    return true;
}

static bool take_range(const char *text, assay_setting_range *out)
{
    assay_setting_range range = {INT64_MIN, INT64_MAX};
    const char *at = text;
    if (*at != ':' && !parse_integer(at, &at, &range.from))
        return false;
    if (*at++ != ':')
        return false;
    if (*at && (!parse_integer(at, &at, &range.to) || *at))
        return false;
    /* `to` is excluded, so equal ones would name nothing. */
    if (range.from >= range.to)
        return false;
    *out = range;
    return true;
}

static bool take_word(const char *words, const char *text, int *out)
{
    const size_t wanted = strlen(text);
    int number = 0;
    for (const char *word = words; *word; number++) {
        const size_t length = strcspn(word, "|");
        if (wanted == length && memcmp(word, text, length) == 0) {
            *out = number;
            return true;
        }
        word += length + (word[length] == '|');
    }
    return false;
}

static int take_copy(const char *text, char **out)
{
    char *copy = assay_copy_text(text);
    ASSAY_HAVE(copy);
    free(*out);
    *out = copy;
    return ASSAY_OK;
}

static bool take_switch(const char *text, bool *out)
{
    /* Python writes True and False, and its users do. */
    const bool yes = strcmp(text, "true") == 0 || strcmp(text, "True") == 0;
    if (!yes && strcmp(text, "false") != 0 && strcmp(text, "False") != 0)
        return false;
    *out = yes;
    return true;
}

static bool take_real(const assay_setting *s, const char *text, void *member)
{
    char *end;
    const double value = strtod(text, &end);
    return end != text && *end == '\0' && set_real(s, value, member);
}

int assay_setting_take(const assay_setting *s, const char *text, void *member)
{
    const char *end;
    int64_t number = 0;
    bool taken = false;
    switch (s->kind) {
    case ASSAY_SETTING_SWITCH:
        taken = take_switch(text, member);
        break;
    case ASSAY_SETTING_TEXT:
        taken = *text != '\0';
        if (taken)
            *(const char **)member = text;
        break;
    case ASSAY_SETTING_COPY:
        return *text ? take_copy(text, member) : ASSAY_EPARAM;
    case ASSAY_SETTING_INTEGER:
        taken = parse_integer(text, &end, &number) && *end == '\0';
        if (taken)
            *(assay_setting_integer *)member = (assay_setting_integer){true, number};
        break;
    case ASSAY_SETTING_COUNT:
        taken = parse_integer(text, &end, &number) && *end == '\0' && set_count(s, number, member);
        break;
    case ASSAY_SETTING_SIZE:
        taken = take_size(s, text, member);
        break;
    case ASSAY_SETTING_REAL:
        taken = take_real(s, text, member);
        break;
    case ASSAY_SETTING_RANGE:
        taken = take_range(text, member);
        break;
    case ASSAY_SETTING_WORD:
        taken = take_word(s->words, text, member);
        break;
    default: /* kinds that no single text gives */
        break;
    }
    return taken ? ASSAY_OK : ASSAY_EPARAM;
}

/* ---- messages ---- */

/* "info, warning or error" */
static const char *list_words(const char *words, char room[ASSAY_SETTING_WANTED])
{
    size_t used = 0;
    words += words[0] == '|'; /* an empty first word stands for "not given" */
    for (const char *word = words; *word && used < ASSAY_SETTING_WANTED;) {
        const size_t length = strcspn(word, "|");
        const bool first = word == words, last = word[length] == '\0';
        used += (size_t)snprintf(room + used, ASSAY_SETTING_WANTED - used, "%s%.*s",
                                 first  ? ""
                                 : last ? " or "
                                        : ", ",
                                 (int)length, word);
        word += length + !last;
    }
    return room;
}

static const char *wanted_number(const assay_setting *s, const char *what, char room[ASSAY_SETTING_WANTED])
{
    /* The bound of the table stands for "no bound": it is not shown. */
    if (s->most >= 0x1p62) /* more than any machine counts to */
        snprintf(room, ASSAY_SETTING_WANTED, s->least <= -1e300 ? "%s" : "%s from %.15g", what, s->least);
    else
        snprintf(room, ASSAY_SETTING_WANTED, "%s from %.15g to %.15g", what, s->least, s->most);
    return room;
}

const char *assay_setting_wanted(const assay_setting *s, char room[ASSAY_SETTING_WANTED])
{
    switch (s->kind) {
    case ASSAY_SETTING_SWITCH:
        return "true or false";
    case ASSAY_SETTING_INTEGER:
        return "a whole number";
    case ASSAY_SETTING_COUNT:
        return has_range(s) ? wanted_number(s, "a whole number", room) : "a whole number from 1";
    case ASSAY_SETTING_SIZE:
        if (s->least <= 0)
            return "a size like 512M or 2G";
        snprintf(room, ASSAY_SETTING_WANTED, "a size like 512M or 2G, at least %.15gM", s->least / (1 << 20));
        return room;
    case ASSAY_SETTING_REAL:
        return has_range(s) ? wanted_number(s, "a number", room) : "a number, 0 or more";
    case ASSAY_SETTING_RANGE:
        return "a range like 100:200, 100: or :200 with the smaller number first";
    case ASSAY_SETTING_WORD:
        return list_words(s->words, room);
    case ASSAY_SETTING_TEXTS:
        snprintf(room, ASSAY_SETTING_WANTED, "a list of at most %.0f texts that are not empty", s->most);
        return room;
    case ASSAY_SETTING_LIST:
        snprintf(room, ASSAY_SETTING_WANTED, "a list of at most %.0f items", s->most);
        return room;
    case ASSAY_SETTING_OBJECT:
        return "an object in braces";
    case ASSAY_SETTING_TEXT:
    case ASSAY_SETTING_COPY:
    case ASSAY_SETTING_ITEM:
    case ASSAY_SETTING_REPEATED:
    case ASSAY_SETTING_NAMES:
        break;
    }
    return "a text that is not empty";
}

const char *assay_setting_hint(const assay_setting *s, const char *text, char hint[ASSAY_NEAREST_ROOM])
{
    char words[256] = "", *rest = words;
    assay_nearest nearest;
    assay_nearest_begin(&nearest, text, strlen(text));
    if (s->kind == ASSAY_SETTING_WORD)
        snprintf(words, sizeof words, "%s", s->words);
    for (const char *word = strsep(&rest, "|"); word; word = strsep(&rest, "|"))
        assay_nearest_offer(&nearest, word);
    return assay_nearest_hint(&nearest, hint);
}

/* ---- from JSON ---- */

static bool is_list(const assay_setting *s, const cJSON *item)
{
    size_t count = 0;
    if (!cJSON_IsArray(item))
        return false;
    for (const cJSON *each = item->child; each; each = each->next, count++)
        if (s->kind == ASSAY_SETTING_TEXTS && (!cJSON_IsString(each) || each->valuestring[0] == '\0'))
            return false;
    return (double)count <= s->most;
}

/* ASSAY_EPARAM where the item is no value of the setting. */
static int take_item(const assay_setting *s, const cJSON *item, void *member)
{
    int64_t number = 0;
    bool fits = false;
    switch (s->kind) {
    case ASSAY_SETTING_SWITCH:
        fits = cJSON_IsBool(item);
        *(bool *)member = cJSON_IsTrue(item);
        break;
    case ASSAY_SETTING_COUNT:
        fits = assay_json_i64(item, &number) && set_count(s, number, member);
        break;
    case ASSAY_SETTING_REAL:
        fits = cJSON_IsNumber(item) && set_real(s, item->valuedouble, member);
        break;
    case ASSAY_SETTING_TEXTS:
    case ASSAY_SETTING_LIST:
        fits = is_list(s, item);
        break;
    case ASSAY_SETTING_OBJECT:
        fits = cJSON_IsObject(item);
        break;
    case ASSAY_SETTING_ITEM:
        fits = true;
        break;
    default:
        return cJSON_IsString(item) ? assay_setting_take(s, item->valuestring, member) : ASSAY_EPARAM;
    }
    /* Kinds from ASSAY_SETTING_TEXTS on are handed over as JSON, which the document goes on owning. */
    if (fits && s->kind >= ASSAY_SETTING_TEXTS)
        *(const cJSON **)member = item;
    return fits ? ASSAY_OK : ASSAY_EPARAM;
}

static int refuse(const assay_setting *s, const char *place, const cJSON *item, assay_error *err)
{
    char room[ASSAY_SETTING_WANTED], hint[ASSAY_NEAREST_ROOM];
    const char *wanted = assay_setting_wanted(s, room);
    if (s->kind == ASSAY_SETTING_WORD && cJSON_IsString(item))
        return assay_fail(err, ASSAY_EFORMAT, "%s%sunknown %s \"%.40s\"%s; known: %s", place, place[0] ? ": " : "",
                          s->name, item->valuestring, assay_setting_hint(s, item->valuestring, hint), wanted);
    return assay_fail(err, ASSAY_EFORMAT, "%s%s\"%s\" has to be %s", place, place[0] ? ": " : "", s->name, wanted);
}

/* The value of a key that is missing. */
static int set_initial(const assay_setting *s, void *member)
{
    /* Defaults are texts in the table, so that --help, the schema and the reader have one source. */
    if (s->initial)
        return assay_setting_take(s, s->initial, member);
    switch (s->kind) {
    case ASSAY_SETTING_SWITCH:
        *(bool *)member = false;
        break;
    case ASSAY_SETTING_REAL:
        *(double *)member = 0;
        break;
    case ASSAY_SETTING_COUNT:
        memset(member, 0, s->size ? s->size : sizeof(size_t));
        break;
    case ASSAY_SETTING_WORD:
        *(int *)member = 0;
        break;
    case ASSAY_SETTING_COPY:
        free(*(char **)member);
        *(char **)member = NULL;
        break;
    default:
        *(const void **)member = NULL;
    }
    return ASSAY_OK;
}

static int check_keys(const assay_setting *table, const char *place, const cJSON *object, assay_error *err)
{
    /* More keys than any table has. */
    const char *known[64];
    size_t count = 0;
    for (; table[count].name && count + 1 < sizeof known / sizeof *known; count++)
        known[count] = table[count].name;
    known[count] = NULL;
    return assay_json_known_keys(object, place, known, err);
}

int assay_settings_read(const assay_setting *table, const char *place, const cJSON *object, void *into,
                        assay_error *err)
{
    int status = object ? check_keys(table, place, object, err) : ASSAY_OK;
    /* In the order of the table: which of several errors is told does not depend on how people sort their keys. */
    for (const assay_setting *s = table; status == ASSAY_OK && s->name; s++) {
        void *member = (char *)into + s->at;
        const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, s->name);
        if (!item && s->required && object)
            return assay_fail(err, ASSAY_EFORMAT, "%s%s\"%s\" is missing: %s", place, place[0] ? ": " : "", s->name,
                              s->help);
        status = item ? take_item(s, item, member) : set_initial(s, member);
        if (status == ASSAY_EPARAM)
            return refuse(s, place, item, err);
        if (status == ASSAY_ENOMEM)
            return assay_fail(err, status, "%s: out of memory", place);
    }
    return status;
}
