/* rules_new_texts.h - the files that `assay rules new` writes. */
#pragma once

#include <stddef.h>

typedef struct cli_new_text {
    const char *file;        /* name, with blanks like the text */
    const char *const *line; /* ends with NULL; @NAME@, @FILE@ (the name in small letters), @PREFIX@ and @PROGRAM@ (of
                                assay) are filled in */
} cli_new_text;

/* Of a rule in C, and of one in Python. */
extern const cli_new_text cli_new_texts[];
extern const size_t cli_new_text_count;
extern const cli_new_text cli_new_python_texts[];
extern const size_t cli_new_python_text_count;
