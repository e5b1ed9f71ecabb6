/* last_memory.c - see last_memory.h. */
#include "cli/last_memory.h"

#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define ASSAY_OTHERS_ALLOCATE
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ASSAY_OTHERS_ALLOCATE
#endif

#if defined(__GLIBC__) && !defined(ASSAY_OTHERS_ALLOCATE)
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

static atomic_bool keeps;
static void (*next_free)(void *);

/* Whoever's it is: the C library's, or that of an allocator that was preloaded. glibc's checking one has its functions
 * under the version of the C library's alone, which is another one on other processors. */
__attribute__((constructor)) static void find_free(void)
{
    static const char *const versions[] = {"GLIBC_2.2.5", "GLIBC_2.17"};
    void *symbol = NULL;
    for (size_t i = 0; !symbol && i < sizeof versions / sizeof *versions; i++)
        symbol = dlvsym(RTLD_NEXT, "free", versions[i]);
    if (!symbol)
        symbol = dlsym(RTLD_NEXT, "free");
    memcpy(&next_free, &symbol, sizeof next_free);
}

/* In the place of the library's, for all of the program. */
void free(void *bytes)
{
    if (next_free && !atomic_load_explicit(&keeps, memory_order_relaxed))
        next_free(bytes);
}

void cli_keep_memory(void)
{
    atomic_store(&keeps, true);
}
#else
void cli_keep_memory(void)
{
}
#endif
