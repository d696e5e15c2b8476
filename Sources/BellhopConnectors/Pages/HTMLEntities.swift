/// Entities of HTML, such as `&amp;`, `&#8211;` and `&#x2013;`. Knows only the named ones that are common in text.
enum HTMLEntities {
    /// The text of these bytes with entities replaced; unknown ones stay.
    static func decode(_ bytes: some Collection<UInt8>) -> String {
        guard bytes.contains(UInt8(ascii: "&")) else { return String(decoding: bytes, as: UTF8.self) }
        var text = String.UnicodeScalarView()
        var rest = Substring(String(decoding: bytes, as: UTF8.self)).unicodeScalars
        while let scalar = rest.popFirst() {
            if scalar == "&", let (meant, length) = entity(rest) {
                text.append(contentsOf: meant.unicodeScalars)
                rest = rest.dropFirst(length)
            } else {
                text.append(scalar)
            }
        }
        return String(text)
    }

    /// The text of the character reference after an ampersand, and its length in scalars; nil if it is not one.
    private static func entity(_ rest: Substring.UnicodeScalarView) -> (String, Int)? {
        let name = rest.prefix(32).prefix { $0.isASCII && ($0.properties.isAlphabetic || ("0"..."9").contains($0) || $0 == "#") }
        let isClosed = rest.dropFirst(name.count).first == ";"
        let text = String(name)
        if text.first == "#" {
            let digits = text.dropFirst()
            let isHex = digits.first == "x" || digits.first == "X"
            guard let number = UInt32(isHex ? digits.dropFirst() : digits, radix: isHex ? 16 : 10) else { return nil }
            let scalar = number == 0 ? nil : Unicode.Scalar(windows1252[number] ?? number)
            return (String(Character(scalar ?? "\u{FFFD}")), name.count + (isClosed ? 1 : 0))
        }
        if isClosed, let meant = named[text] { return (meant, name.count + 1) }
        // A few legacy entities need no semicolon.
        for old in ["amp", "lt", "gt", "quot", "nbsp"] where text.hasPrefix(old) && !isClosed {
            return named[old].map { ($0, old.count) }
        }
        return nil
    }

    /// The code points of Windows-1252 characters that old pages write as numbers.
    private static let windows1252: [UInt32: UInt32] = [
        0x80: 0x20AC, 0x85: 0x2026, 0x91: 0x2018, 0x92: 0x2019, 0x93: 0x201C, 0x94: 0x201D, 0x95: 0x2022, 0x96: 0x2013,
        0x97: 0x2014, 0x99: 0x2122,
    ]

    private static let named: [String: String] = [
        "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'", "nbsp": "\u{A0}", "iexcl": "¡", "cent": "¢", "pound": "£",
        "curren": "¤", "yen": "¥", "sect": "§", "uml": "¨", "copy": "©", "ordf": "ª", "laquo": "«", "not": "¬", "shy": "\u{AD}",
        "reg": "®", "macr": "¯", "deg": "°", "plusmn": "±", "sup2": "²", "sup3": "³", "acute": "´", "micro": "µ", "para": "¶",
        "middot": "·", "cedil": "¸", "sup1": "¹", "ordm": "º", "raquo": "»", "frac14": "¼", "frac12": "½", "frac34": "¾",
        "iquest": "¿", "Agrave": "À", "Aacute": "Á", "Acirc": "Â", "Atilde": "Ã", "Auml": "Ä", "Aring": "Å", "AElig": "Æ",
        "Ccedil": "Ç", "Egrave": "È", "Eacute": "É", "Ecirc": "Ê", "Euml": "Ë", "Igrave": "Ì", "Iacute": "Í", "Icirc": "Î",
        "Iuml": "Ï", "ETH": "Ð", "Ntilde": "Ñ", "Ograve": "Ò", "Oacute": "Ó", "Ocirc": "Ô", "Otilde": "Õ", "Ouml": "Ö",
        "times": "×", "Oslash": "Ø", "Ugrave": "Ù", "Uacute": "Ú", "Ucirc": "Û", "Uuml": "Ü", "Yacute": "Ý", "THORN": "Þ",
        "szlig": "ß", "agrave": "à", "aacute": "á", "acirc": "â", "atilde": "ã", "auml": "ä", "aring": "å", "aelig": "æ",
        "ccedil": "ç", "egrave": "è", "eacute": "é", "ecirc": "ê", "euml": "ë", "igrave": "ì", "iacute": "í", "icirc": "î",
        "iuml": "ï", "eth": "ð", "ntilde": "ñ", "ograve": "ò", "oacute": "ó", "ocirc": "ô", "otilde": "õ", "ouml": "ö",
        "divide": "÷", "oslash": "ø", "ugrave": "ù", "uacute": "ú", "ucirc": "û", "uuml": "ü", "yacute": "ý", "thorn": "þ",
        "yuml": "ÿ", "OElig": "Œ", "oelig": "œ", "Scaron": "Š", "scaron": "š", "Yuml": "Ÿ", "ensp": "\u{2002}",
        "emsp": "\u{2003}", "thinsp": "\u{2009}", "zwnj": "\u{200C}", "zwj": "\u{200D}", "lrm": "\u{200E}", "rlm": "\u{200F}",
        "ndash": "–", "mdash": "—", "lsquo": "‘", "rsquo": "’", "sbquo": "‚", "ldquo": "“", "rdquo": "”", "bdquo": "„",
        "dagger": "†", "Dagger": "‡", "bull": "•", "hellip": "…", "permil": "‰", "prime": "′", "lsaquo": "‹", "rsaquo": "›",
        "euro": "€", "trade": "™", "larr": "←", "uarr": "↑", "rarr": "→", "darr": "↓", "harr": "↔", "minus": "−", "le": "≤",
        "ge": "≥", "ne": "≠", "infin": "∞", "asymp": "≈", "check": "✓", "star": "☆", "starf": "★", "NewLine": "\n", "Tab": "\t",
    ]
}
