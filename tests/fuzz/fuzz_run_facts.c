/* Any bytes as the facts of a run: they are taken or a problem, are in order, and survive packing. */
#include <assay/module.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/smdebug/run_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

/* Whatever a module is said to be, it is of a kind, and its numbers are numbers. */
static void look_at_module(const char *what)
{
    double number = 0;
    const int kind = assay_module_kind_of(what);
    must(kind >= ASSAY_MODULE_UNKNOWN && kind < ASSAY_MODULE_KINDS);
    for (int at = 0; at < 3; at++)
        if (assay_module_number(what, "stride", at, &number))
            must(isfinite(number));
    must(!assay_module_says(what, "padding", "same") || !assay_module_number(what, "padding", 0, &number));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    assay_run_facts facts = {0}, copy = {0};
    assay_problems problems;
    assay_buf packed, again;
    assay_problems_init(&problems);
    assay_buf_init(&packed, SIZE_MAX);
    assay_buf_init(&again, SIZE_MAX);
    for (int worker = 0; worker < 2; worker++) {
        int status = assay_run_json_add(&facts, "f", data, size, &problems);
        /* A file that says that it is another worker's is taken, and named. */
        must(status == ASSAY_OK && facts.files + problems.total >= (uint64_t)worker + 1 && problems.losses == 0);
        must(facts.files <= (uint64_t)worker + 1);
    }
    for (size_t i = 0; i < facts.count; i++) {
        must(i == 0 || strcmp(facts.list[i - 1].name, facts.list[i].name) < 0);
        must(assay_run_fact_of(&facts, facts.list[i].name) == facts.list[i].value);
        look_at_module(facts.list[i].value);
    }
    assay_run_facts_pack(&facts, &packed);
    assay_cursor in = assay_cursor_over(packed.data, packed.size);
    must(assay_run_facts_unpack(&in, &copy) == ASSAY_OK && !assay_cursor_bad(&in));
    assay_run_facts_pack(&copy, &again);
    must(packed.size == again.size && memcmp(packed.data, again.data, packed.size) == 0);
    assay_run_facts_release(&copy);
    in = assay_cursor_over(data, size);
    if (assay_run_facts_unpack(&in, &copy) == ASSAY_OK)
        assay_run_facts_release(&copy);
    assay_run_facts_release(&facts);
    assay_problems_release(&problems);
    assay_buf_release(&packed);
    assay_buf_release(&again);
    return 0;
}
