/* bands_read.c - reads a file of bands. It may come from anywhere, so everything in it is checked. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/search.h"
#include "report/compare/bands.h"

typedef struct reader {
    const char *name;
    size_t band; /* that is read */
    assay_error *err;
} reader;

static int bad(const reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int bad(const reader *r, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return assay_fail(r->err, ASSAY_EFORMAT, "%s: bands[%zu]: %s", r->name, r->band, text);
}

static int no_memory(const reader *r)
{
    return assay_fail(r->err, ASSAY_ENOMEM, "%s: out of memory", r->name);
}

/* Checks the digest: the last line has that of what stands before it. */
static int check_digest(const char *name, const char *text, size_t size, assay_error *err)
{
    static const char lead[] = " \"sha256\": \"", tail[] = "\"}\n";
    const size_t line = sizeof lead - 1 + 64 + sizeof tail - 1;
    const char *last = size > line ? text + size - line : NULL;
    if (!last || last[-1] != '\n' || memcmp(last, lead, sizeof lead - 1) != 0 || memcmp(text + size - 3, tail, 3) != 0)
        return assay_fail(err, ASSAY_EFORMAT, "%s: not a file of --learn, or cut short: its last line is no \"sha256\"",
                          name);
    char hex[65];
    assay_sha256 hash;
    assay_sha256_init(&hash);
    assay_sha256_add(&hash, text, size - line);
    assay_sha256_hex(&hash, hex);
    if (memcmp(hex, last + sizeof lead - 1, 64) != 0)
        return assay_fail(err, ASSAY_EFORMAT,
                          "%s: changed or damaged since --learn wrote it: its SHA-256 is %s; learn it anew", name, hex);
    return ASSAY_OK;
}

static const cJSON *get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static int read_steps(const reader *r, const cJSON *list, assay_band *band)
{
    if (!cJSON_IsArray(list) || !list->child)
        return bad(r, "\"steps\" has to be a list that is not empty");
    band->step = assay_alloc((size_t)cJSON_GetArraySize(list) * sizeof *band->step);
    if (!band->step)
        return no_memory(r);
    for (const cJSON *item = list->child; item; item = item->next) {
        int64_t step;
        if (!assay_json_i64(item, &step) || (band->steps > 0 && step <= band->step[band->steps - 1]))
            return bad(r, "steps[%zu]: expected a whole number above the one before", band->steps);
        band->step[band->steps++] = step;
    }
    return ASSAY_OK;
}

static int read_quantiles(const reader *r, const cJSON *list, assay_band *band)
{
    size_t rows = 0;
    if (!cJSON_IsArray(list) || (size_t)cJSON_GetArraySize(list) != band->steps)
        return bad(r, "\"quantiles\" has to be a list as long as \"steps\", which has %zu", band->steps);
    band->quantile = assay_alloc(band->steps * ASSAY_BAND_QUANTILES * sizeof *band->quantile);
    if (!band->quantile)
        return no_memory(r);
    for (const cJSON *row = list->child; row; row = row->next, rows++) {
        double *to = band->quantile + rows * ASSAY_BAND_QUANTILES;
        int q = 0;
        if (!cJSON_IsArray(row) || cJSON_GetArraySize(row) != ASSAY_BAND_QUANTILES)
            return bad(r, "quantiles[%zu]: expected a list of %d numbers", rows, ASSAY_BAND_QUANTILES);
        for (const cJSON *item = row->child; item; item = item->next, q++) {
            if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble) || (q > 0 && item->valuedouble < to[q - 1]))
                return bad(r, "quantiles[%zu][%d]: expected a finite number, not below the one before", rows, q);
            to[q] = item->valuedouble;
        }
    }
    return ASSAY_OK;
}

/* Bands are in one order, so that each is there once; check_trial() names departures by it. */
static int order_of(const assay_band *a, const assay_band *b)
{
    if (a->figure != b->figure)
        return a->figure < b->figure ? -1 : 1;
    int order = strcmp(a->tensor, b->tensor);
    return order ? order : (a->mode > b->mode) - (a->mode < b->mode);
}

static bool read_count(const cJSON *item, size_t *out)
{
    int64_t value;
    bool right = item && assay_json_i64(item, &value) && value >= 0;
    *out = right ? (size_t)value : 0;
    return right;
}

/* Whether a number passes zero and how large it is: both are needed to score it, and follow from the quantiles. */
static int look_at_numbers(const reader *r, assay_band *band)
{
    double *size = assay_alloc(band->steps * sizeof *size);
    if (!size)
        return no_memory(r);
    for (size_t i = 0; i < band->steps; i++) {
        const double *quantile = band->quantile + i * ASSAY_BAND_QUANTILES;
        size[i] = fabs(quantile[ASSAY_BAND_QUANTILES / 2]);
        band->number.passes_zero |= quantile[0] < 0;
    }
    qsort(size, band->steps, sizeof *size, assay_order_f64);
    band->number.level = size[band->steps / 2];
    free(size);
    return ASSAY_OK;
}

/* What a failure leaves in *band is released by assay_bands_release(), as the band is counted before. */
static int read_band(const reader *r, const cJSON *item, const assay_band *before, assay_band *band)
{
    static const char *const keys[] = {"figure", "tensor", "mode", "runs", "moved", "steps", "quantiles", NULL};
    assay_error cause = {""};
    if (assay_json_known_keys(item, "the band", keys, &cause) != ASSAY_OK)
        return bad(r, "%s", cause.text);
    const cJSON *figure = get(item, "figure"), *tensor = get(item, "tensor"), *mode = get(item, "mode");
    if (!cJSON_IsString(figure) || !cJSON_IsString(tensor) || !cJSON_IsString(mode))
        return bad(r, "\"figure\", \"tensor\" and \"mode\" have to be texts");
    while (band->figure < ASSAY_BAND_FIGURES && strcmp(assay_band_word(band->figure), figure->valuestring) != 0)
        band->figure++;
    if (band->figure == ASSAY_BAND_FIGURES)
        return bad(r, "unknown figure \"%.40s\"; known: loss, gap, norm, magnitude, zeros, mean, elements, value",
                   figure->valuestring);
    band->mode = assay_mode_parse(mode->valuestring, strlen(mode->valuestring));
    if (band->mode == ASSAY_MODE_NONE)
        return bad(r, "unknown mode \"%.40s\"; known: TRAIN, EVAL, PREDICT, GLOBAL", mode->valuestring);
    if (!(band->tensor = assay_copy_text(tensor->valuestring)))
        return no_memory(r);
    if (before && order_of(before, band) >= 0)
        return bad(r, "it is not in order behind the one before: by figure, tensor, mode, each once");
    if (!read_count(get(item, "runs"), &band->runs) || !read_count(get(item, "moved"), &band->moved))
        return bad(r, "\"runs\" and \"moved\" have to be whole numbers from 0 on");
    int status = read_steps(r, get(item, "steps"), band);
    ASSAY_THEN(status, read_quantiles(r, get(item, "quantiles"), band));
    ASSAY_THEN(status, band->figure == ASSAY_BAND_VALUE ? look_at_numbers(r, band) : ASSAY_OK);
    return status;
}

static bool read_number(const cJSON *object, const char *key, double least, double most, double *out)
{
    const cJSON *item = get(object, key);
    bool right = cJSON_IsNumber(item) && item->valuedouble >= least && item->valuedouble <= most;
    *out = right ? item->valuedouble : 0;
    return right;
}

static bool read_noise(const cJSON *object, assay_bands *out)
{
    static const double MOST = 1e300;
    double points;
    assay_noise *n = &out->noise;
    assay_score *w = &out->worst;
    bool right = read_number(object, "points", 1, ASSAY_NOISE_POINTS_MOST, &points) &&
                 read_number(object, "share", 0, 1, &n->share) && read_number(object, "margin", 0, 1, &n->margin) &&
                 read_number(object, "factor", 1, 100, &n->factor) &&
                 read_number(object, "losses", 0, MOST, &w->losses) && read_number(object, "gaps", 0, MOST, &w->gaps) &&
                 read_number(object, "tensors", 0, MOST, &w->tensors) &&
                 read_number(object, "tensor", 0, MOST, &w->tensor);
    n->points = right ? (size_t)points : 1;
    return right && points == (double)n->points;
}

/* The digest tells damage, not who wrote it: every member is checked as a stranger's. */
static int read_document(const char *name, const cJSON *document, assay_bands *out, assay_error *err)
{
    static const char *const keys[] = {"schema", "trials", "noise", "bands", "sha256", NULL};
    assay_error cause = {""};
    int64_t trials = 0;
    if (assay_json_known_keys(document, "the file", keys, &cause) != ASSAY_OK)
        return assay_fail(err, ASSAY_EFORMAT, "%s: %s", name, cause.text);
    const cJSON *schema = get(document, "schema"), *list = get(document, "bands");
    if (!cJSON_IsString(schema) || strcmp(schema->valuestring, "assay-bands/3") != 0)
        return assay_fail(err, ASSAY_EFORMAT, "%s: schema: expected \"assay-bands/3\"; learn the bands anew", name);
    if (!get(document, "trials") || !assay_json_i64(get(document, "trials"), &trials) || trials < 0)
        return assay_fail(err, ASSAY_EFORMAT, "%s: trials: expected how many were learned from", name);
    if (!read_noise(get(document, "noise"), out))
        return assay_fail(err, ASSAY_EFORMAT,
                          "%s: noise: expected points 1 to %d, share and margin 0 to 1, factor 1 to 100, and losses, "
                          "gaps, tensors and tensor from 0 on",
                          name, ASSAY_NOISE_POINTS_MOST);
    if (!cJSON_IsArray(list))
        return assay_fail(err, ASSAY_EFORMAT, "%s: bands: expected a list", name);
    reader r = {.name = name, .err = err};
    out->trials = (size_t)trials;
    out->band = assay_alloc_zeroed((size_t)cJSON_GetArraySize(list), sizeof *out->band);
    int status = out->band ? ASSAY_OK : no_memory(&r);
    for (const cJSON *item = list->child; status == ASSAY_OK && item; item = item->next) {
        r.band = out->count;
        assay_band *band = &out->band[out->count++];
        status = read_band(&r, item, r.band > 0 ? band - 1 : NULL, band);
    }
    return status;
}

int assay_bands_parse(const char *name, const void *text, size_t size, assay_bands *out, assay_error *err)
{
    cJSON *document = NULL;
    *out = (assay_bands){0};
    int status = check_digest(name, text, size, err);
    ASSAY_THEN(status, assay_json_parse(name, text, size, &document, err));
    if (status == ASSAY_OK && !(out->name = assay_copy_text(name)))
        status = assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", name);
    ASSAY_THEN(status, read_document(name, document, out, err));
    cJSON_Delete(document);
    if (status != ASSAY_OK)
        assay_bands_release(out);
    return status;
}

void assay_bands_release(assay_bands *bands)
{
    for (size_t i = 0; i < bands->count; i++) {
        free(bands->band[i].tensor);
        free(bands->band[i].step);
        free(bands->band[i].quantile);
    }
    free(bands->band);
    free(bands->name);
    *bands = (assay_bands){0};
}
