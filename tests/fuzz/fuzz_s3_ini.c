/* Any bytes as a file of profiles: what is found is a text of one line without blanks around it, and a profile that has
 * a value is there. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "s3/ini.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const keys[] = {"aws_access_key_id", "aws_secret_access_key", "region", "s3"};
    const char *text = (const char *)data;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        for (int grouped = 0; grouped < 2; grouped++) {
            char *value = NULL;
            int found = s3_ini_find(text, size, "default", grouped ? "s3" : NULL, keys[i], &value);
            must(found == 0 || found == 1);
            if (!found)
                continue;
            size_t length = strlen(value);
            must(length < size && !strchr(value, '\n') && s3_ini_has(text, size, "default"));
            must(length == 0 || (!strchr(" \t\r", value[0]) && !strchr(" \t\r", value[length - 1])));
            free(value);
        }
    }
    return 0;
}
