/* The pilot's state file, and the reports that it reads: any bytes are refused with a reason, or give a state that can
 * be planned with, and that reads back as the same when it is written. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pilot/pilot_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_state(assay_pilot *pilot, assay_buf *out)
{
    assay_buf_init(out, 16 * ASSAY_PILOT_CEILING);
    if (assay_pilot_put_state(pilot, out) != ASSAY_OK)
        abort();
}

static void use(assay_pilot *pilot)
{
    assay_buf first, second;
    assay_pilot *again = NULL;
    assay_buf_init(&first, 16 * ASSAY_PILOT_CEILING);
    assay_pilot_put_next(pilot, &first);
    assay_buf_release(&first);
    for (int i = 0; i < 5 && pilot_plan(pilot, "found", NULL) == ASSAY_OK && pilot->next_action == PILOT_LAUNCH_NEW;
         i++)
        pilot_add(pilot, "num_retraining");
    pilot->job_status = PILOT_JOB_COMPLETED;
    put_state(pilot, &first);
    if (assay_pilot_parse("fuzz", first.data, first.size, &again, NULL) != ASSAY_OK)
        abort();
    put_state(again, &second);
    if (first.size != second.size || memcmp(first.data, second.data, first.size) != 0)
        abort();
    assay_buf_clear(&first);
    (void)assay_pilot_put_status(again, NULL, &first);
    assay_buf_release(&first);
    assay_buf_release(&second);
    assay_pilot_close(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    assay_error err = {""};
    assay_pilot *pilot = NULL;
    pilot_verdict verdict;
    if (size > 1 << 16)
        return 0;
    int status = assay_pilot_parse("fuzz", data, size, &pilot, &err);
    if ((status != ASSAY_OK) != (err.text[0] != '\0'))
        abort(); /* a failure says why, a success says nothing */
    if (status == ASSAY_OK)
        use(pilot);
    assay_pilot_close(pilot);
    (void)pilot_read_report("fuzz", data, size, ASSAY_WARNING, &verdict, NULL);
    return 0;
}
