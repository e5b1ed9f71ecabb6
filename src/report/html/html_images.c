/* html_images.c - wrong predictions with their input images. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "rules/shared/wrong_predictions.h"

#include "base/base64.h"
#include "report/html/html.h"
#include "report/html/png.h"

enum { SHOWN_WIDE = 96 /* pixels of the page, for the longer side of a picture */ };

static void put_pixels(html_page *page, const assay_picture *p)
{
    /* A picture is shown at one size, whatever its own. */
    uint32_t longer = p->width > p->height ? p->width : p->height;
    assay_buf png = ASSAY_BUF(1 << 20);
    if (!p->pixel) {
        html_put(page, "<span class=\"no-picture\">no picture</span>");
        return;
    }
    assay_png_put(&png, p->pixel, p->width, p->height, p->channels);
    html_put(page,
             "<img width=\"%u\" height=\"%u\" alt=\"The input, labelled %" PRId64 ", predicted %" PRId64
             "\" src=\"data:image/png;base64,",
             (unsigned)(SHOWN_WIDE * p->width / longer), (unsigned)(SHOWN_WIDE * p->height / longer), p->label,
             p->prediction);
    assay_base64_put(page->out, png.data, png.size);
    html_put(page, "\">");
    html_fail(page, assay_buf_status(&png));
    assay_buf_release(&png);
}

static void put_picture(html_page *page, const assay_trial *info, const assay_picture *p)
{
    uint64_t at = assay_trial_find_step(info, p->step);
    const assay_step_info *step = at == UINT64_MAX ? NULL : assay_trial_step(info, at);
    html_put(page, "<li><figure class=\"picture\">");
    put_pixels(page, p);
    html_put(page, "<figcaption><span><span class=\"dim\">predicted</span> <strong class=\"wrong\">");
    html_class_number(page, p->prediction);
    html_put(page, "</strong></span><span><span class=\"dim\">true</span> <strong>");
    html_class_number(page, p->label);
    html_put(page, "</strong></span><span class=\"dim\">step %" PRId64, p->step);
    if (step)
        html_put(page, " (%s %" PRId64 ")", assay_mode_name(step->mode), step->mode_step);
    html_put(page, "</span><span class=\"dim\">");
    html_name(page, assay_trial_worker(info, p->worker));
    html_put(page, ", sample %" PRIu64 "</span></figcaption></figure></li>\n", p->sample);
}

static void put_trial(html_page *page, size_t t, const report_rule *rule, const assay_wrong_predictions *wrong)
{
    uint32_t i = 0;
    html_trial_begin(page, t, NULL);
    html_put(page, "<p><strong>%" PRIu64 "</strong> of %" PRIu64 " predictions are wrong", wrong->wrong,
             wrong->samples);
    if (wrong->samples > 0)
        html_put(page, " (%.1f\u202f%%)", 100 * (double)wrong->wrong / (double)wrong->samples);
    html_put(page,
             wrong->wrong > wrong->count ? "; these are the first, by step, worker and sample.</p>\n" : ".</p>\n");
    if (rule->message_size > 0)
        html_message(page, rule->message, rule->message_size);
    html_put(page, "<ul class=\"pictures\">\n");
    for (; i < wrong->count && !html_full(page); i++)
        put_picture(page, page->outcome->trials[t].info, &wrong->list[i]);
    html_put(page, "</ul>\n");
    html_more(page, wrong->count - i, "of them");
    html_trial_end(page);
}

/* Finds what the aggregation kept of trial t; NULL when it is another aggregation, or has nothing. */
static const assay_wrong_predictions *wrong_of(const html_page *page, size_t t, size_t i)
{
    const assay_trial_outcome *trial = &page->outcome->trials[t];
    const assay_rule_ops *ops = page->outcome->job->aggregations[i]->ops;
    if (!html_read(trial) || html_is_usual(page, t) || !ops || strcmp(ops->name, "wrong_predictions") != 0)
        return NULL;
    const assay_wrong_predictions *wrong = trial->aggregations[i].state;
    return wrong && (wrong->samples > 0 || wrong->unfit > 0) ? wrong : NULL;
}

static size_t count_with(const html_page *page)
{
    size_t with = 0;
    for (size_t i = 0; i < page->outcome->job->aggregation_count; i++) {
        for (size_t t = 0; t < page->outcome->trial_count; t++)
            with += wrong_of(page, t, i) != NULL;
    }
    return with;
}

void html_images(html_page *page)
{
    const assay_outcome *outcome = page->outcome;
    size_t with = count_with(page), done = 0;
    if (with == 0)
        return;
    html_section(page, "images", "Wrong predictions", HTML_BUDGET_IMAGES);
    size_t end = page->end;
    for (size_t i = 0; i < outcome->job->aggregation_count; i++) {
        for (size_t t = 0; t < outcome->trial_count && page->out->size < end; t++) {
            const assay_wrong_predictions *wrong = wrong_of(page, t, i);
            if (!wrong)
                continue;
            report_rule rule = report_rule_of(outcome, &outcome->trials[t], i, true);
            page->end = html_share(page, end, done++, with);
            put_trial(page, t, &rule, wrong);
        }
    }
    page->end = end;
    html_more(page, with - done, "trials");
    html_section_end(page);
}
