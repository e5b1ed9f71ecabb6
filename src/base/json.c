/* json.c - parsing by cJSON after a strict check, and questions to what was parsed. */
#include "base/json.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/json_scan.h"

static pthread_once_t hooks_once = PTHREAD_ONCE_INIT;

static void set_hooks(void)
{
    cJSON_Hooks hooks = {assay_alloc, free};
    cJSON_InitHooks(&hooks);
}

/* The text behind a byte order mark. */
static const char *skip_mark(const char *text, size_t *size)
{
    if (*size < 3 || memcmp(text, "\xef\xbb\xbf", 3) != 0)
        return text;
    *size -= 3;
    return text + 3;
}

int assay_json_check(const char *name, const void *text, size_t size, assay_error *err)
{
    const char *from = skip_mark(text, &size);
    return assay_json_scan(name, from, size, err);
}

int assay_json_parse(const char *name, const void *text, size_t size, cJSON **out, assay_error *err)
{
    int status = assay_json_check(name, text, size, err);
    if (status != ASSAY_OK)
        return status;
    const char *from = skip_mark(text, &size);
    pthread_once(&hooks_once, set_hooks);
    cJSON *parsed = cJSON_ParseWithLength(from, size);
    if (!parsed) /* the text is well-formed: nothing else can fail */
        return assay_fail(err, ASSAY_ENOMEM, "%s: out of memory while reading JSON", name);
    *out = parsed;
    return ASSAY_OK;
}

static bool is_known(const char *key, const char *const *known)
{
    while (*known && strcmp(*known, key) != 0)
        known++;
    return *known != NULL;
}

static int refuse_key(const char *place, const char *key, const char *const *known, assay_error *err)
{
    char list[320] = "";
    size_t used = 0;
    for (; *known; known++) {
        size_t length = strlen(*known);
        if (length + 6 > sizeof list - used) {
            memcpy(list + used, " ...", 5);
            break;
        }
        memcpy(list + used, used ? ", " : "", used ? 2 : 0);
        used += used ? 2 : 0;
        memcpy(list + used, *known, length + 1);
        used += length;
    }
    return assay_fail(err, ASSAY_EFORMAT, "%s: unknown key \"%.60s\"; known keys: %s", place, key,
                      list[0] ? list : "(none)");
}

int assay_json_known_keys(const cJSON *object, const char *place, const char *const *known, assay_error *err)
{
    if (!cJSON_IsObject(object))
        return assay_fail(err, ASSAY_EFORMAT, "%s: expected an object in braces", place);
    for (const cJSON *item = object->child; item; item = item->next) {
        if (!is_known(item->string, known))
            return refuse_key(place, item->string, known, err);
        /* Short however long the object is: all keys so far are known ones and differ. */
        for (const cJSON *earlier = object->child; earlier != item; earlier = earlier->next) {
            if (strcmp(earlier->string, item->string) == 0)
                return assay_fail(err, ASSAY_EFORMAT, "%s: the key \"%s\" is there twice", place, item->string);
        }
    }
    return ASSAY_OK;
}

bool assay_json_i64(const cJSON *item, int64_t *out)
{
    if (!cJSON_IsNumber(item))
        return false;
    double value = item->valuedouble;
    if (!(fabs(value) <= 0x1p53) || value != trunc(value))
        return false;
    *out = (int64_t)value;
    return true;
}
