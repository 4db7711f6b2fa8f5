// Puts the text made by tools/cmake/builtin_text.cmake into the program as it is.
    .section .rodata
    .global minigpt_builtin_text_begin
    .global minigpt_builtin_text_end
minigpt_builtin_text_begin:
    .incbin MINIGPT_BUILTIN_TEXT
minigpt_builtin_text_end:
    .byte 0
    .section .note.GNU-stack, "", %progbits
