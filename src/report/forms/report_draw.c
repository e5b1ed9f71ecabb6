/* report_draw.c - the results of aggregations as drawings for a terminal: bars of class counts, a shaded confusion
 * matrix, sparklines of curves. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "report/forms/forms.h"
#include "report/text/layout.h"

enum { INDENT = 4, CLASSES_SHOWN = 100, CURVES_SHOWN = 50, PAIRS_SHOWN = 5, LEAST_BAR = 4, COUNT_ROOM = 32 };

static double number_of(const cJSON *item)
{
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

/* ---- class counts ---- */

void report_draw_classes(const assay_draw *draw, const cJSON *classes, assay_buf *out)
{
    double most = 0, all = 0;
    unsigned name = 5, count = 7, most_name = draw->columns / 4;
    int shown = 0, classes_in_all = cJSON_GetArraySize(classes);
    char text[COUNT_ROOM];
    for (const cJSON *item = classes->child; item; item = item->next) {
        size_t width = assay_text_columns(item->string, strlen(item->string));
        name = width > name ? (unsigned)width : name;
        width = (size_t)snprintf(text, sizeof text, "%.0f", number_of(item));
        count = width > count ? (unsigned)width : count;
        most = number_of(item) > most ? number_of(item) : most;
        all += number_of(item);
    }
    name = name > most_name && most_name > 5 ? most_name : name;
    unsigned used = INDENT + name + 2 + count + 2 + 7 + 2;
    assay_put_format(out, "    %*s  %*s    share\n", (int)name, "class", (int)count, "samples");
    for (const cJSON *item = classes->child; item && shown < CLASSES_SHOWN; item = item->next, shown++) {
        assay_buf clean, label;
        assay_buf_init(&clean, 1 << 20);
        assay_buf_init(&label, 1 << 20);
        assay_text_put_clean(&clean, item->string, strlen(item->string));
        assay_text_put_cut(&label, (const char *)clean.data, clean.size, name);
        assay_text_put_blanks(out, INDENT + name - assay_text_columns((const char *)label.data, label.size));
        assay_put_bytes(out, label.data, label.size);
        assay_put_format(out, "  %*.0f  %5.1f %%", (int)count, number_of(item),
                         100 * number_of(item) / (all > 0 ? all : 1));
        if (draw->columns >= used + LEAST_BAR && number_of(item) > 0) {
            assay_put_format(out, "  ");
            assay_draw_bar(draw, number_of(item) / most, draw->columns - used, out);
        }
        assay_put_u8(out, '\n');
        assay_buf_release(&clean);
        assay_buf_release(&label);
    }
    if (classes_in_all > shown)
        assay_put_format(out, "    ... and %d more class%s; report.json has all of them.\n", classes_in_all - shown,
                         classes_in_all - shown == 1 ? "" : "es");
}

/* ---- confusion matrix ---- */

typedef struct shaded {
    double *cell; /* [size][size]: of classes, or of runs of them where there are more than columns */
    size_t size, classes, run;
} shaded;

typedef struct confused {
    size_t label, prediction;
    double count, of;
} confused;

/* Keeps the pairs with the largest counts, the first of equals. */
static void note_pair(confused *list, confused pair)
{
    for (size_t i = 0; i < PAIRS_SHOWN && pair.count > 0; i++) {
        if (pair.count > list[i].count) {
            confused moved = list[i];
            list[i] = pair;
            pair = moved;
        }
    }
}

static void add_up(const cJSON *matrix, shaded *s, confused *pairs)
{
    size_t label = 0;
    for (const cJSON *row = matrix->child; row && label < s->classes; row = row->next, label++) {
        size_t prediction = 0;
        double all = 0;
        for (const cJSON *cell = row->child; cell; cell = cell->next)
            all += number_of(cell);
        for (const cJSON *cell = row->child; cell && prediction < s->classes; cell = cell->next, prediction++) {
            s->cell[label / s->run * s->size + prediction / s->run] += number_of(cell);
            if (label != prediction)
                note_pair(pairs, (confused){label, prediction, number_of(cell), all});
        }
    }
}

static void put_head(const shaded *s, unsigned width, unsigned cell, assay_buf *out)
{
    assay_put_format(out, "    label down, predicted across%s", s->run > 1 ? "; " : "");
    if (s->run > 1)
        assay_put_format(out, "%zu classes a cell", s->run);
    assay_put_u8(out, '\n');
    if (cell < 2 || s->classes > 100)
        return;
    assay_text_put_blanks(out, INDENT + width + 1);
    for (size_t c = 0; c < s->size; c++)
        assay_put_format(out, "%2zu", c);
    assay_put_u8(out, '\n');
}

static void put_rows(const assay_draw *draw, const shaded *s, unsigned width, unsigned cell, assay_buf *out)
{
    for (size_t row = 0; row < s->size; row++) {
        double all = 0;
        for (size_t c = 0; c < s->size; c++)
            all += s->cell[row * s->size + c];
        assay_put_format(out, "    %*zu ", (int)width, row * s->run);
        for (size_t c = 0; c < s->size; c++)
            assay_draw_shade(draw, all > 0 ? s->cell[row * s->size + c] / all : 0,
                             c == row ? ASSAY_DRAW_GOOD : ASSAY_DRAW_BAD, cell, out);
        while (out->size > 0 && out->data[out->size - 1] == ' ')
            out->size--;
        assay_put_u8(out, '\n');
    }
}

void report_draw_matrix(const assay_draw *draw, const cJSON *matrix, assay_buf *out)
{
    char text[COUNT_ROOM];
    confused pairs[PAIRS_SHOWN] = {{0}};
    size_t classes = (size_t)cJSON_GetArraySize(matrix);
    unsigned width = (unsigned)snprintf(text, sizeof text, "%zu", classes - 1);
    unsigned room = draw->columns > INDENT + width + 2 ? draw->columns - INDENT - width - 1 : 1;
    unsigned cell = classes * 2 <= room ? 2 : 1;
    shaded s = {.classes = classes, .run = (classes * cell + room - 1) / room};
    s.size = (classes + s.run - 1) / s.run;
    s.cell = assay_alloc_zeroed(s.size * s.size, sizeof *s.cell);
    if (!s.cell) {
        if (out->status == ASSAY_OK)
            out->status = ASSAY_ENOMEM;
        return;
    }
    add_up(matrix, &s, pairs);
    put_head(&s, width, cell, out);
    put_rows(draw, &s, width, cell, out);
    free(s.cell);
    for (size_t i = 0; i < PAIRS_SHOWN && pairs[i].count > 0; i++)
        assay_put_format(out, "%s    %zu taken for %zu: %.0f of %.0f\n", i ? "" : "\n    most confused:\n",
                         pairs[i].label, pairs[i].prediction, pairs[i].count, pairs[i].of);
}

/* ---- curves ---- */

/* The numbers of a list, "nan" and the like too. NULL without memory. */
static double *numbers_of(const cJSON *list, size_t count)
{
    double *value = assay_alloc_zeroed(count, sizeof *value);
    size_t i = 0;
    for (const cJSON *item = value && list ? list->child : NULL; item && i < count; item = item->next, i++) {
        if (cJSON_IsNumber(item))
            value[i] = item->valuedouble;
        else
            value[i] = cJSON_IsString(item) ? strtod(item->valuestring, NULL) : NAN;
    }
    return value;
}

static const char *text_of(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(item) ? item->valuestring : "";
}

/* "TRAIN name", cleaned and terminated. */
static void put_label(const cJSON *curve, assay_buf *out)
{
    const char *tensor = text_of(curve, "tensor");
    assay_put_format(out, "%s ", text_of(curve, "mode"));
    assay_text_put_clean(out, tensor, strlen(tensor));
    assay_put_u8(out, '\0');
}

static void put_curve(const assay_draw *draw, const cJSON *curve, const char *key, const char *label, unsigned width,
                      assay_buf *out)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(curve, key);
    size_t count = cJSON_IsArray(list) ? (size_t)cJSON_GetArraySize(list) : 0;
    double *value = numbers_of(list, count);
    if (value)
        assay_draw_series(draw, label, width, value, count, out);
    else if (out->status == ASSAY_OK)
        out->status = ASSAY_ENOMEM;
    free(value);
}

void report_draw_curves(const assay_draw *draw, const cJSON *curves, const char *key, assay_buf *out)
{
    int shown = 0, all = cJSON_GetArraySize(curves);
    size_t longest = 0;
    assay_buf labels; /* one behind another */
    assay_buf_init(&labels, ASSAY_REPORT_CEILING);
    for (const cJSON *curve = curves->child; curve && shown < CURVES_SHOWN; curve = curve->next, shown++) {
        size_t start = labels.size;
        put_label(curve, &labels);
        size_t columns = assay_text_columns((const char *)labels.data + start, labels.size - start - 1);
        longest = columns > longest ? columns : longest;
    }
    if (assay_buf_status(&labels) != ASSAY_OK) {
        if (out->status == ASSAY_OK)
            out->status = assay_buf_status(&labels);
        assay_buf_release(&labels);
        return;
    }
    const char *label = (const char *)labels.data;
    for (const cJSON *curve = curves->child; curve && shown > 0; curve = curve->next, shown--) {
        put_curve(draw, curve, key, label, assay_draw_label_columns(draw, longest), out);
        label += strlen(label) + 1;
    }
    assay_buf_release(&labels);
    if (all > CURVES_SHOWN)
        assay_put_format(out, "    ... and %d more curve%s; report.json has all of them.\n", all - CURVES_SHOWN,
                         assay_plural((uint64_t)(all - CURVES_SHOWN)));
}
