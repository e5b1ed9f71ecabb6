/* Any bytes as a document with comments: what is JSON comes out the same with and without them, and what is taken is
 * written as JSON and read back. The text itself is left alone. */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cJSON *strict = NULL, *commented = NULL, *again = NULL;
    assay_error err = {""};
    char *copy = malloc(size + !size);
    must(copy != NULL);
    memcpy(copy, data, size);
    int plain = assay_json_parse("f", data, size, &strict, NULL);
    int status = assay_json_parse_commented("f", copy, size, &commented, &err);
    must(memcmp(copy, data, size) == 0);
    must(plain != ASSAY_OK || status == ASSAY_OK);
    must(status == ASSAY_OK || (status == ASSAY_EFORMAT && strncmp(err.text, "f: line ", 8) == 0));
    must(plain != ASSAY_OK || cJSON_Compare(strict, commented, true));
    if (status == ASSAY_OK) {
        char *text = cJSON_PrintUnformatted(commented);
        must(text && assay_json_parse("f", text, strlen(text), &again, NULL) == ASSAY_OK);
        cJSON_free(text);
    }
    cJSON_Delete(strict);
    cJSON_Delete(commented);
    cJSON_Delete(again);
    free(copy);
    return 0;
}
