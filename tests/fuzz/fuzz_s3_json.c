/* Any bytes as the JSON that processes, containers and instances answer with: keys that are whole, or a message without
 * any of what was read. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "s3/credentials.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    s3_keys keys;
    assay_error err = {""};
    int status = s3_keys_from_json("the answer", data, size, "Token", &keys, &err);
    if (status == ASSAY_OK) {
        must(keys.key && keys.key[0] && keys.secret && keys.secret[0] && keys.expires != INT64_MIN);
        s3_keys_release(&keys);
    } else {
        must(status == ASSAY_EFORMAT && strncmp(err.text, "the answer: ", 12) == 0);
    }
    return 0;
}
