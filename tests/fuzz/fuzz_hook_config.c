/* The hook's configuration file: any bytes are refused or give a configuration that answers all questions. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "hook/config.h"
#include "hook/names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(hook_config *config)
{
    static const char tensor[] = "gradient/net.weight_output_0";
    hook_name known = {.text = (char *)(uintptr_t)tensor};
    assay_buf text;
    for (int mode = 0; mode < HOOK_MODES; mode++) {
        for (int64_t step = 0; step < 3; step++)
            hook_config_step_mask(config, mode, step);
        hook_config_step_mask(config, mode, INT64_MAX);
    }
    known.mask = hook_config_match(config, tensor, sizeof tensor - 1);
    assay_buf_init(&text, 1 << 24);
    hook_collections_write(config, 1, &known, 1, &text);
    assay_buf_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hook_config *config = malloc(sizeof *config);
    if (size <= 1 << 16 && hook_config_init(config) == 0) {
        assay_error err = {""};
        int rc = hook_config_load(config, "fuzz", data, size, false, &err);
        if ((rc < 0) != (err.text[0] != '\0'))
            abort(); /* a failure says why, a success says nothing */
        if (rc == 0 && hook_config_freeze(config, NULL) == 0)
            ask(config);
        hook_config_release(config);
    }
    free(config);
    return 0;
}
