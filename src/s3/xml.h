/* xml.h - the little of XML that servers of the S3 protocol answer with, pulled element by element. Inside s3 only.
 *
 * Elements, text, the five entities, references to characters, comments, CDATA and one declaration in front. Attributes
 * are passed over, and so is a name's prefix. A document type is refused: nothing is ever expanded. */
#pragma once

#include <assay/pack.h>
#include <assay/status.h>

enum { S3_XML_DEPTH = 8, S3_XML_NAME = 64 };

typedef enum s3_xml_event { S3_XML_START, S3_XML_END, S3_XML_DONE, S3_XML_BAD } s3_xml_event;

typedef struct s3_xml {
    const char *at, *end;
    unsigned depth;                           /* open elements */
    char name[S3_XML_DEPTH + 1][S3_XML_NAME]; /* of these, from 1; an END's is still there: name[depth + 1] */
    assay_buf text;                           /* END: what stood in the element, terminated */
    bool closes;                              /* the element that began is empty: its END comes next */
    bool had_root;
} s3_xml;

/* Reads `size` borrowed bytes. Release it. */
void s3_xml_init(s3_xml *xml, const char *text, size_t size);
void s3_xml_release(s3_xml *xml);
/* The next event. START: an element began, its name is name[depth]. END: it ended, its name is name[depth + 1], and
 * text has its characters (those behind the last element in it). DONE: the document is over and whole. BAD: it is cut
 * off or damaged, or has more than this reader takes; so is every event from then on. */
s3_xml_event s3_xml_next(s3_xml *xml);
