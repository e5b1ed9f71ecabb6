/* test_document.c - one document with every kind of block and with hostile names, in every form, against golden files.
 *
 * After a change of a form that is meant: ASSAY_GOLDEN=write test_document, and read the difference. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <assay/status.h>

#include "base/file.h"
#include "report/document/document.h"
#include "report/document/render.h"
#include "unit.h"

#define GOLDEN ASSAY_TEST_DATA "/document/"

static const char hostile[] = "w|`<b>\x1b[31m\xe2\x80\xae@all\xff";

static const doc_column WAITS[] = {{"rank", DOC_OF_NAMES, NULL, DOC_CUT_LAST},
                                   {"state", DOC_OF_WORDS, NULL, DOC_KEEP},
                                   {"last collective", DOC_OF_COUNTS, NULL, DOC_KEEP},
                                   {"waits", DOC_OF_SECONDS, NULL, DOC_KEEP},
                                   {"busy", DOC_OF_SHARES, NULL, DOC_KEEP},
                                   {"memory", DOC_OF_BYTES, NULL, DOC_KEEP},
                                   {"never filled", DOC_OF_WORDS, NULL, DOC_KEEP}};

static void put_waits(doc *d)
{
    doc_table(d, &(doc_table_def){"waits", "ranks", WAITS, sizeof WAITS / sizeof *WAITS, true});
    for (int i = 0; i < 14; i++) {
        char name[16];
        snprintf(name, sizeof name, "rank_%d", i);
        doc_row(d, i == 2 ? DOC_BAD : DOC_PLAIN);
        if (i == 2)
            doc_row_link(d, "rank-2");
        doc_cell_name(d, i == 3 ? hostile : name);
        doc_cell(d);
        doc_put_badge(d, i == 2 ? DOC_BAD : DOC_GOOD, i == 2 ? "behind" : "waits");
        doc_cell_count(d, i == 2 ? 12u : 13u);
        if (i == 8 || i == 9)
            doc_cell_range(d, 2, i == 8 ? 4 : 2, i == 9);
        else
            doc_cell_real(d, i == 5 ? NAN : 0.5 + i / 3.0);
        if (i == 8)
            doc_put(d, "of a remark that is cut where a line is too long");
        if (i == 6)
            continue; /* cells that are missing are empty */
        doc_cell_real(d, 0.125);
        doc_cell_count(d, 1500000);
        if (i == 7)
            doc_put(d, "of a GPU");
    }
    doc_left_out(d, 50);
}

static void put_charts(doc *d)
{
    static const double x[] = {1, 2, 3, 4}, a[] = {1, 0.5, INFINITY, 0.25}, b[] = {2, 2, 2, 2}, low[] = {0, 0, 0, 0};
    static const char *const labels[] = {"cat", "dog", "<bird>", "fish"};
    const doc_series series[] = {{"run_1", x, a, 4, 0}, {hostile, x, b, 4, 1}};
    const doc_band band = {"the others", x, low, b, 4};
    static const double far[] = {1, 300, 200, 100}, none[] = {NAN, INFINITY, NAN, NAN}, some[] = {1, 2, 1, 2};
    const doc_series odd = {"odd", x, far, 4, 0}, lost = {"lost", x, none, 4, 0};
    const doc_band flat = {"the others", x, some, b, 4};
    const doc_link links[] = {{"rank_0", "rank_1", 3, DOC_PLAIN}, {"rank_0", hostile, NAN, DOC_BAD}};
    doc_put_chart(d, "loss",
                  &(doc_chart){.kind = DOC_LINES,
                               .title = "Loss",
                               .x_label = "step",
                               .y_label = "loss",
                               .remark = "Two runs.",
                               .series = series,
                               .count = 2,
                               .band = &band,
                               .mark = x,
                               .marks = 1,
                               .mark_word = "finding"});
    doc_put_chart(d, NULL,
                  &(doc_chart){.kind = DOC_LINES,
                               .title = "Far above the band: logarithmic",
                               .x_label = "step",
                               .y_label = "loss",
                               .series = &odd,
                               .count = 1,
                               .band = &flat});
    doc_put_chart(d, NULL,
                  &(doc_chart){.kind = DOC_LINES,
                               .title = "Nothing finite: not drawn",
                               .x_label = "step",
                               .y_label = "loss",
                               .series = &lost,
                               .count = 1});
    doc_put_chart(d, NULL,
                  &(doc_chart){.kind = DOC_HEAT,
                               .title = "Wait by rank",
                               .x_label = "step",
                               .y_label = "seconds",
                               .series = series,
                               .count = 2});
    doc_put_chart(d, NULL,
                  &(doc_chart){.kind = DOC_BARS,
                               .title = "Classes",
                               .x_label = "class",
                               .y_label = "samples",
                               .series = series + 1,
                               .count = 1,
                               .label = labels});
    doc_put_chart(d, NULL,
                  &(doc_chart){.kind = DOC_PAIRS,
                               .title = "Who waits for whom",
                               .x_label = "waits",
                               .y_label = "for",
                               .link = links,
                               .links = 2});
}

static doc *make(void)
{
    static const char *const steps[] = {"Look at the data loader of the rank.", "Run with one worker & compare.", NULL};
    doc *d = doc_new();
    CU_ASSERT_FATAL(d != NULL);
    doc_verdict(d, DOC_BAD);
    doc_put_text(d, "rank_2 never entered collective 13 <i>", 38);
    doc_advice(d, "Look at rank_2 *first*.", steps);
    doc_section(d, "stuck", "Ranks that wait");
    doc_paragraph(d);
    doc_put(d, "%d ranks wait for ", 13);
    doc_put_name(d, hostile);
    doc_put(d, ", see ");
    doc_put_name(d, "rank_2");
    doc_put_dim(d, " (%s)", "of 14");
    put_waits(d);
    doc_card(d, "rank-2", DOC_BAD);
    doc_put_badge(d, DOC_BAD, "Behind");
    doc_put(d, " ");
    doc_put_name(d, "rank_2");
    doc_facts(d);
    doc_fact(d, "host");
    doc_put_name(d, "node7");
    doc_fact(d, "last call");
    doc_put_strong(d, "all_reduce");
    doc_lines(d, "  File \"<train>.py\", line 3\n    step()\n", 38);
    doc_advice(d, "Look at rank_2 *first*.", steps);
    doc_end(d);
    doc_details(d, "more");
    doc_put(d, "12 ranks are %s", "as they should be");
    doc_list(d, false);
    doc_item(d);
    doc_put(d, "one");
    doc_item(d);
    doc_put_name(d, "two");
    doc_note(d);
    doc_put(d, "Nothing else.");
    doc_end(d);
    doc_end(d);
    doc_section(d, "charts", "Pictures");
    put_charts(d);
    doc_only(d, DOC_HTML);
    doc_paragraph(d);
    doc_put(d, "On the page alone.");
    doc_end(d);
    doc_alert(d);
    doc_put(d, "One file could not be read.");
    CU_ASSERT_FATAL(doc_status(d) == ASSAY_OK);
    return d;
}

static void check(const char *name, const assay_buf *out)
{
    char path[512];
    assay_buf wanted;
    assay_buf_init(&wanted, 1 << 24);
    CU_ASSERT(assay_buf_status(out) == ASSAY_OK);
    snprintf(path, sizeof path, GOLDEN "%s", name);
    const char *write = getenv("ASSAY_GOLDEN");
    if (write && strcmp(write, "write") == 0)
        CU_ASSERT(assay_file_write(path, out->data, out->size, NULL) == ASSAY_OK);
    CU_ASSERT_FATAL(assay_file_read(path, 1 << 24, &wanted, NULL) == ASSAY_OK);
    const bool same = wanted.size == out->size && memcmp(wanted.data, out->data, out->size) == 0;
    if (!same)
        printf("%s differs:\n%.*s\n", name, (int)out->size, (const char *)out->data);
    CU_ASSERT(same);
    assay_buf_release(&wanted);
}

static void test_forms(void)
{
    const assay_draw terminal = {.columns = 72, .utf8 = true, .colour = true};
    doc *d = make();
    assay_buf out;
    assay_buf_init(&out, 1 << 24);
    doc_render_text(d, NULL, &out);
    check("text.txt", &out);
    assay_buf_clear(&out);
    doc_render_text(d, &terminal, &out);
    check("terminal.txt", &out);
    assay_buf_clear(&out);
    doc_render_markdown(d, 65536, &out);
    check("markdown.txt", &out);
    assay_buf_clear(&out);
    doc_render_html(d, 1000000, &out);
    check("page.html", &out);
    assay_buf_release(&out);
    doc_free(d);
}

/* Whatever the budget, Markdown keeps it, and HTML is not far above. */
static void test_budgets(void)
{
    doc *d = make();
    for (size_t most = 0; most < 20000; most += 97) {
        assay_buf out;
        assay_buf_init(&out, 1 << 24);
        doc_render_markdown(d, most, &out);
        CU_ASSERT(assay_buf_status(&out) == ASSAY_OK && out.size <= (most > 120 ? most : 120));
        assay_buf_clear(&out);
        doc_render_html(d, most, &out);
        CU_ASSERT(assay_buf_status(&out) == ASSAY_OK && out.size <= most + 30000);
        assay_buf_release(&out);
    }
    doc_free(d);
}

/* Calls in an impossible order are mistakes of the program, which no form hides. */
static void test_mistakes(void)
{
    static const doc_column one[] = {{"a", DOC_OF_WORDS, NULL, DOC_KEEP}};
    for (int i = 0; i < 5; i++) {
        doc *d = doc_new();
        assay_buf out;
        CU_ASSERT_FATAL(d != NULL);
        assay_buf_init(&out, 1 << 20);
        switch (i) {
        case 0:
            doc_end(d);
            break;
        case 1:
            doc_put(d, "text without a block");
            break;
        case 2:
            doc_row(d, DOC_PLAIN);
            break;
        case 3:
            doc_paragraph(d);
            doc_item(d);
            break;
        default:
            doc_table(d, &(doc_table_def){"t", "rows", one, 1, false});
            doc_row(d, DOC_PLAIN);
            doc_cell_words(d, "x");
            doc_cell_words(d, "one too many");
        }
        CU_ASSERT(doc_status(d) == ASSAY_EINTERNAL);
        doc_render_text(d, NULL, &out);
        CU_ASSERT(assay_buf_status(&out) == ASSAY_EINTERNAL && out.size == 0);
        assay_buf_release(&out);
        doc_free(d);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"every form", test_forms}, {"budgets", test_budgets}, {"mistakes", test_mistakes}, CU_TEST_INFO_NULL};
    return unit_main("document", tests);
}
