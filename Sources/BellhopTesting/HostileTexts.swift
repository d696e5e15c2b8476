/// Texts as people and attackers write them into tickets. Every receiver must show them as plain text.
public enum HostileTexts {
    /// At least 200 strings.
    public static let all: [String] = mentions + links + markup + lineStarts + entities + injections + characters + titles

    /// Titles that combine several of these. Each goes through the whole program separately.
    public static let titles = [
        #"<!channel> ${{ secret.x }} "; DROP TABLE delivery; --"#, "\u{1B}[31mred\u{1B}]0;owned\u{7} \u{9B}2J \u{202E}dne",
        "@here <@U123> <https://evil.example|click> *bold* `code` [a](javascript:alert(1))", "two\nlines\r\nX-Injected: yes",
        "a\u{85}b\u{9D}0;owned\u{9C} \u{2028}c\u{2029} \u{2067}d\u{2066}e\u{200F}f\u{61C}",
        "no\u{200B}body\u{FEFF} \u{2060}sees\u{E0041}\u{E007F} pass\u{200D}word\u{AD}",
        #"\u0000 \\ ' '' " %00 %n ${{ env.PASSWORD }} $${{ x }} {{ y }}"#,
    ]

    /// A text of more than one megabyte (2^20 bytes), with characters that are difficult in markup, HTML, JSON and Unicode.
    public static let long = String(repeating: "<&*é\"\\ 👩‍👩‍👧 ", count: 39_000)

    /// Mentions in the syntax of different receivers.
    static let mentions = [
        "<!channel>", "<!here|here>", "<!everyone>", "<@U123ABC>", "<@W123|name>", "<!subteam^S01|@team>", "<#C123|general>",
        "<!date^1392734382^{date}|x>", "@everyone", "@here", "@channel", "@all", "@user_name", "mail to a@b.example now",
        "<@123456789012345678>", "<@!123456789012345678>", "<@&123456789012345678>", "<#123456789012345678>",
        "<t:1618953630:R>", "<:name:123456789012345678>", "<a:name:123456789012345678>", "</cmd:816437322781949972>",
        "<users/all>", "<users/1234567890>", "<spaces/AAA>", "<at>Everyone</at>", "<at id=\"0\">x</at>", "~town-square",
        "tg://user?id=1", "/start", "#hashtag", "$CASHTAG", "@\u{200B}here", "\u{FF20}everyone", "@@here", "@here@here",
    ]

    static let links = [
        "https://evil.example/", "http://evil.example/a(b)c", "www.evil.example", "evil.example/path", "mailto:x@evil.example",
        "[click](https://evil.example)", "[a](javascript:alert(1))", "![pic](https://evil.example/x.png)",
        "<https://evil.example>", "<https://evil.example|click>", "[a]: https://evil.example", "[a][b]", "[a]", "[](x)",
        "](https://evil.example)", "[x](", "https://good.example@evil.example/", "tel:+123",
        "[\u{202E}kcilc](https://evil.example)", "javascript:alert(1)", "data:text/html,<script>alert(1)</script>",
        "//evil.example", "https:\\\\evil.example", "<a href=\"https://evil.example\">x</a>",
        "[https://good.example](https://evil.example)", "(https://evil.example)", "a|https://evil.example|b",
        "https://x\u{200B}.example",
    ]

    static let markup = [
        "*bold*", "**bold**", "***both***", "_it_", "__under__", "~gone~", "~~gone~~", "||spoiler||", "`code`", "``co`de``",
        "```\nblock\n```",
        "*", "**", "***", "****", "_", "__", "`", "``", "```", "~", "~~", "|", "||", "a*b*c", "a_b_c", "a**b**c", "*a **b* c**",
        "**a*",
        "* a *", "_ a _", "*!*", "**\"x\"**", "a*\"b\"*c", "\\*not bold\\*", "\\", "\\\\", "\\\\*x*", "x\\", "*x\\", "**x\\*",
        "$x^2$", "$$x$$",
        ":smile:", ":+1:", "H~2~O", "^sup^", "==mark==", "{{ x }}", "{% x %}", "${{ secret.x }}", "$${{ x }}",
        "{color:red}x{color}",
        "<b>x</b>", "<i>", "</b>", "<br>", "<br/>", "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<!-- c -->",
        "<![CDATA[x]]>",
        "<?php ?>", "<style>*{}</style>", "<tg-spoiler>x</tg-spoiler>", "<pre>", "<code>x</code>", "<u>x", "<", ">", "<>",
        "< a >", "a < b > c",
        "x</a>", "\"><b>x", "' onclick='x", "*\u{200B}*bold*\u{200B}*", "*\u{FEFF}bold\u{FEFF}*", "**bold\u{00A0}**",
    ]

    static let lineStarts = [
        "# title", "## title", "#", "-# small", "> quote", ">>> quote", ">", "- item", "* item", "+ item", "1. item", "1) item",
        "12345. item", "-", "+", "---", "***", "___", "===", "text\n===", "text\n---", "a | b\n--|--\nc | d", "| a | b |",
        "    code", "\tcode", "  - nested", "```\ncode", "~~~\ncode", "    \n    code", "a\n\n\n\nb", "a\n> b", "a\n- b",
        "a\n1. b", "a\n# b", "a  \nb", "a\\\nb", "[ ] todo", "- [x] done", ": definition", "term\n: definition", "[^1]: note",
        "\u{00A0}# title", "a\r\n# b", "a\u{2028}# b", "a\u{85}- b",
    ]

    static let entities = [
        "&", "&amp;", "&lt;", "&lt;b&gt;", "&amp;lt;", "&#60;b&#62;", "&#x3c;", "&nbsp;", "&copy", "&copy;", "&;", "&#;", "&#0;",
        "&#xD800;", "&unknown;", "%3Cb%3E", "\\u003cb\\u003e", "\\x3c", "=?UTF-8?B?eA==?=", "=3Cb=3E",
    ]

    /// Texts with a special meaning outside messages: in SQL, JSON, header fields, shell commands, paths and spreadsheets.
    static let injections = [
        #"<!channel> ${{ secret.x }} "; DROP TABLE delivery; --"#, "' OR 1=1 --", "\"", "'", "\"}", "]}", "{\"text\":\"x\"}",
        "\\\"", "\\n", "\\r\\n",
        "two\nlines\r\nX-Injected: yes", "Subject: x\r\nBcc: a@b.example", "a\r\n.\r\nQUIT", "%00", "%n%s%x", "../../etc/passwd",
        "$(id)", "`id`",
        "; id", "| id", "&& id", "=cmd|' /C calc'!A0", "@SUM(1)", "\u{FEFF}bom", "null", "true", "-1", "1e999", "NaN", "",
        #"\u0000 \\ ' '' " %00 %n ${{ env.PASSWORD }} $${{ x }} {{ y }}"#,
    ]

    static let characters = [
        "\u{1B}[31mred\u{1B}]0;owned\u{7} \u{9B}2J", "\u{0}", "a\u{0}b", "\u{8}\u{8}x", "\u{7F}", "\u{85}",
        "a\u{9D}0;owned\u{9C}b", "\u{202E}dne", "\u{202A}a\u{202C}",
        "\u{2066}a\u{2069}", "\u{2067}d\u{2066}e\u{200F}f\u{61C}", "a\u{2028}b\u{2029}c", "no\u{200B}body",
        "\u{200B}*bold*\u{200B}", "pass\u{200D}word\u{AD}",
        "\u{2060}x", "\u{E0041}\u{E007F}", "\u{FFF9}a\u{FFFA}b\u{FFFB}", "\u{FFFD}", "\u{FFFF}", "\u{10FFFF}", "👨‍👩‍👧‍👦", "🇩🇪🇫🇷", "❤️",
        "1️⃣", "e\u{301}", "*\u{301}bold*\u{301}",
        "_\u{20DD}x_", "@\u{301}here", "<\u{338}b>", "Z\u{35F}\u{35F}\u{35F}\u{35F}\u{35F}\u{35F}", "ÄÖÜß", "日本語", "العربية",
        "עברית", "\u{1F3F4}\u{E0067}\u{E007F}", "ﬀ", "Å", "\u{3000}x\u{3000}",
        // A sign that Swift joins with what follows, and marks that it joins with what precedes.
        "\u{600}<b>x</b>\u{600}*y*", "[a]\u{301}(https://evil.example)",
        "＊bold＊", "＜b＞", "‘q’ “q” «q»", "…", "—", "\t", " ", "  ", "\n", "\n\n\n", "\u{FEFF}",
    ]
}
