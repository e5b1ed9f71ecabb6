/* html_histograms.c - how the elements of tensors are distributed over the steps: their quantiles as lines, and beside
 * that a histogram a step, the darker the more of the elements. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rules/shared/histograms.h"

#include "base/fault.h"
#include "report/html/html.h"

/* ROOM: bytes of a chart. */
enum { STEPS = 48, BINS = 24, SHADES = 9, TENSORS = 12, ROOM = 14000 };

static double number_of(const cJSON *item)
{
    if (cJSON_IsNumber(item))
        return item->valuedouble;
    return cJSON_IsString(item) && strcmp(item->valuestring, "inf") == 0    ? INFINITY
           : cJSON_IsString(item) && strcmp(item->valuestring, "-inf") == 0 ? -INFINITY
                                                                            : NAN;
}

/* Takes one histogram; false where there is nothing, or no memory; else out->step is to be freed. */
static bool take(html_page *page, const cJSON *item, html_histogram *out)
{
    const cJSON *tensor = cJSON_GetObjectItemCaseSensitive(item, "tensor");
    const cJSON *mode = cJSON_GetObjectItemCaseSensitive(item, "mode");
    const cJSON *steps = cJSON_GetObjectItemCaseSensitive(item, "steps");
    const cJSON *rows = cJSON_GetObjectItemCaseSensitive(item, "quantiles");
    const size_t count = cJSON_IsArray(steps) ? (size_t)cJSON_GetArraySize(steps) : 0;
    if (count == 0 || !cJSON_IsString(tensor) || !cJSON_IsString(mode) || !cJSON_IsArray(rows))
        return false;
    *out = (html_histogram){tensor->valuestring, mode->valuestring, count, NULL, NULL};
    out->step = assay_alloc_zeroed(count * (1 + ASSAY_HISTOGRAM_LEVELS), sizeof *out->step);
    html_fail(page, out->step ? ASSAY_OK : ASSAY_ENOMEM);
    if (!out->step)
        return false;
    out->quantile = out->step + count;
    const cJSON *step = steps->child, *row = rows->child;
    for (size_t i = 0; i < count && step && row; i++, step = step->next, row = row->next) {
        const cJSON *value = row->child;
        out->step[i] = number_of(step);
        for (size_t k = 0; k < ASSAY_HISTOGRAM_LEVELS && value; k++, value = value->next)
            out->quantile[k * count + i] = number_of(value);
    }
    return true;
}

static void put_quantiles(html_page *page, const html_histogram *h)
{
    static const struct {
        const char *name;
        int level, style;
    } lines[] = {{"median", ASSAY_HISTOGRAM_MEDIAN, 0}, {"least", 0, 5}, {"most", ASSAY_HISTOGRAM_LEVELS - 1, 1}};
    doc_series series[sizeof lines / sizeof *lines];
    for (size_t s = 0; s < sizeof lines / sizeof *lines; s++)
        series[s] = (doc_series){lines[s].name, h->step, h->quantile + (size_t)lines[s].level * h->count, h->count,
                                 lines[s].style};
    const double *low = h->quantile + ASSAY_HISTOGRAM_LOW * h->count,
                 *high = h->quantile + ASSAY_HISTOGRAM_HIGH * h->count;
    bool finite = true;
    for (size_t i = 0; i < h->count; i++)
        finite = finite && isfinite(low[i]) && isfinite(high[i]);
    const doc_band band = {"from 5 % to 95 % of the elements", h->step, low, high, h->count};
    chart_put_lines(&(doc_chart){.title = "Quantiles",
                                 .x_label = "global step",
                                 .y_label = "value of an element",
                                 .band = finite ? &band : NULL,
                                 .series = series,
                                 .count = sizeof lines / sizeof *lines},
                    ROOM / 2, page->out);
}

/* Finds the range in which nearly all elements of all steps lie; false where there is none. The least and the most
 * are left out, as one element would stretch the picture. */
static bool find_range(const html_histogram *h, double *low, double *high)
{
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t k = 1; k + 1 < ASSAY_HISTOGRAM_LEVELS; k++)
        for (size_t i = 0; i < h->count; i++) {
            const double q = h->quantile[k * h->count + i];
            *low = isfinite(q) && q < *low ? q : *low;
            *high = isfinite(q) && q > *high ? q : *high;
        }
    return *low < *high && isfinite(*high - *low);
}

/* Puts paths of cells, one for each shade: a path takes fewer bytes than its cells. */
static void put_cells(html_page *page, const uint8_t *shade, size_t columns)
{
    for (int s = 1; s <= SHADES; s++) {
        bool open = false;
        for (size_t c = 0; c < columns; c++)
            for (size_t b = 0; b < BINS; b++) {
                if (shade[c * BINS + b] != s)
                    continue;
                html_put(page, open ? "M%zu %zuh1v1h-1z" : "<path d=\"M%zu %zuh1v1h-1z", c, BINS - 1 - b);
                open = true;
            }
        if (open)
            html_put(page, "\" fill-opacity=\"%.2f\"/>", (double)s / SHADES);
    }
}

/* Puts a column for each step, at most STEPS at even distances; a row for each bin, all of equal width. */
static void put_map(html_page *page, const html_histogram *h, double low, double high)
{
    uint8_t shade[STEPS * BINS] = {0};
    const size_t columns = h->count < STEPS ? h->count : STEPS;
    for (size_t c = 0; c < columns; c++) {
        const size_t at = columns > 1 ? (h->count - 1) * c / (columns - 1) : 0;
        double q[ASSAY_HISTOGRAM_LEVELS], before = 0;
        for (size_t k = 0; k < ASSAY_HISTOGRAM_LEVELS; k++)
            q[k] = h->quantile[k * h->count + at];
        before = assay_histogram_share(q, low, true);
        for (size_t b = 0; b < BINS; b++) {
            const bool last = b + 1 == BINS;
            const double share =
                assay_histogram_share(q, last ? high : low + (high - low) * (double)(b + 1) / BINS, !last);
            /* by the root of the share: what is rare is seen beside what is not */
            const double root = sqrt(fmax(share - before, 0));
            shade[c * BINS + b] = share > before ? (uint8_t)fmin(SHADES, 1 + root * SHADES) : 0;
            before = share;
        }
    }
    html_put(page,
             "<figure class=\"chart\"><figcaption>Histograms</figcaption><p class=\"unit\">value of an element, the "
             "darker the more</p><div class=\"frame\"><svg class=\"shades hist\" viewBox=\"0 0 %zu %d\" "
             "preserveAspectRatio=\"none\" role=\"img\"><title>Histograms of ",
             columns, BINS);
    html_short_name(page, h->tensor, HTML_NAME);
    html_put(page, " at %zu steps, from %.4g up to %.4g</title>", columns, low, high);
    put_cells(page, shade, columns);
    html_put(
        page,
        "</svg><div class=\"ylab\" aria-hidden=\"true\"><span style=\"top:0%%\">%.3g</span><span "
        "style=\"top:100%%\">%.3g</span></div><div class=\"xlab\" aria-hidden=\"true\"><span style=\"left:0%%\">%.7g"
        "</span><span style=\"left:100%%\">%.7g</span></div></div><p class=\"unit x\">global step</p></figure>\n",
        high, low, h->step[0], h->step[h->count - 1]);
}

void html_put_histogram(html_page *page, const html_histogram *h)
{
    double low, high;
    html_put(page, "<div class=\"charts\">\n");
    put_quantiles(page, h);
    if (find_range(h, &low, &high))
        put_map(page, h, low, high);
    html_put(page, "</div>");
}

static void put_tensor(html_page *page, const html_histogram *h)
{
    html_put(page, "<article class=\"card\"><h4>");
    html_name(page, h->tensor);
    html_put(page, " <span class=\"tag\">");
    html_text(page, h->mode);
    html_put(page, "</span></h4>");
    html_put_histogram(page, h);
    html_put(page, "</article>\n");
}

static void put_trial(html_page *page, const cJSON *list, size_t t)
{
    size_t left = 0, done = 0;
    html_trial_begin(page, t, NULL);
    for (const cJSON *item = list->child; item; item = item->next) {
        html_histogram h;
        if (done >= TENSORS || html_full(page)) {
            left++;
        } else if (take(page, item, &h)) {
            put_tensor(page, &h);
            free(h.step);
            done++;
        }
    }
    html_more(page, left, "tensors");
    html_trial_end(page);
}

static bool put_aggregation(html_page *page, size_t i, bool open)
{
    bool any = false;
    for (size_t t = 0; t < page->outcome->trial_count; t++) {
        report_rule rule = report_rule_of(page->outcome, &page->outcome->trials[t], i, true);
        const bool is = rule.instance->ops && strcmp(rule.instance->ops->name, "tensor_histograms") == 0;
        if (!is || html_is_usual(page, t) || !html_read(&page->outcome->trials[t]) || (any && html_full(page)))
            continue;
        cJSON *members = html_members(page, &rule);
        const cJSON *list = cJSON_GetObjectItemCaseSensitive(members, "histograms");
        if (cJSON_IsArray(list) && list->child) {
            if (!any && !open)
                html_section(page, "histograms", "How elements are distributed", HTML_BUDGET_HISTOGRAMS);
            any = true;
            put_trial(page, list, t);
        }
        cJSON_Delete(members);
    }
    return any;
}

void html_histograms(html_page *page)
{
    html_each_aggregation(page, put_aggregation);
}
