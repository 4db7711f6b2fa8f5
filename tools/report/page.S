// Puts the page made by tools/report/build.mjs into the program as it is.
    .section .rodata
    .global minigpt_report_page_begin
    .global minigpt_report_page_end
minigpt_report_page_begin:
    .incbin MINIGPT_REPORT_PAGE
minigpt_report_page_end:
    .byte 0
    .section .note.GNU-stack, "", %progbits
