/* html_style.h - the style sheet of report.html; its bytes come from html_style.css when assay is built. */
#pragma once

#include <stddef.h>

extern const unsigned char html_style[];
extern const size_t html_style_size;
