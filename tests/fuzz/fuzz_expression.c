/* Conditions of a job file: any text is refused with a place, or gives programs that run on any figures. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rule/expression.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run_all(const assay_expression *e)
{
    static const double odd[] = {0, -0.0, 1, -1e300, NAN, INFINITY};
    assay_expression_figures now = {.present = UINT32_MAX}, before = {.present = UINT32_MAX};
    assay_expression_answer answer;
    for (size_t i = 0; i < sizeof now.value / sizeof *now.value; i++) {
        now.value[i] = odd[i % 6];
        before.value[i] = odd[(i * 5 + 1) % 6];
    }
    for (uint8_t i = 0; i < e->pools; i++)
        if (!assay_expression_run(e, e->pool[i].program, &now, NULL, &answer))
            abort(); /* a pool looks at the step alone */
    if (!assay_expression_run(e, e->condition, &now, &before, &answer) || (answer.value != 0 && answer.value != 1))
        abort(); /* a condition is true or false */
    if (assay_expression_run(e, e->condition, &now, NULL, &answer) == e->looks_back)
        abort(); /* without a step before there is no answer exactly when it is looked at */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    assay_expression *e = NULL;
    assay_error err = {""};
    if (!text)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    int status = assay_expression_compile(text, &e, &err);
    if ((status != ASSAY_OK) != (err.text[0] != '\0') || (status == ASSAY_OK && e->selectors == 0))
        abort();
    if (status == ASSAY_OK)
        run_all(e);
    assay_expression_free(e);
    free(text);
    return 0;
}
