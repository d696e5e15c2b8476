import CEL
import Testing

/// All functions of the extension libraries.
struct LibraryTests {
    @Test(arguments: [
        Line("'hello'.charAt(1) + 'hello'.charAt(5)", #""e""#), Line("'ta©o'.indexOf('o') + 'banana'.indexOf('an', 2)", "6"),
        Line("'banana'.lastIndexOf('an') * 10 + 'banana'.lastIndexOf('an', 2)", "31"),
        Line("'tacocat'.substring(4) + 'tacocat'.substring(0, 4)", #""cattaco""#),
        Line("'AbCÉ'.lowerAscii() + 'abcé'.upperAscii()", #""abcÉABCé""#), Line(#"'\t trim\u00a0 '.trim()"#, #""trim""#),
        Line("'né'.reverse()", #""én""#), Line(#"strings.quote('a"\n')"#, #""\"a\\\"\\n\"""#),
        Line("'a,b,c'.split(',')", #"["a", "b", "c"]"#), Line("'a,b,c'.split(',', 2)", #"["a", "b,c"]"#),
        Line("'a,b'.split(',', 0)", "[]"), Line("'né'.split('')", #"["n", "é"]"#), Line("'abc'.split('', 2)", #"["a", "bc"]"#),
        Line("'abc'.endsWith('bc') && 'abc'.endsWith('') && !'abc'.endsWith('ab') && !'c'.endsWith('bc')", "true"),
        Line("'naïve'.endsWith('ïve') && !'é'.endsWith('\\u0301')", "true"),
        Line("'abc'.startsWith('ab') && 'abc'.startsWith('') && !'abc'.startsWith('bc') && 'abc'.contains('b')", "true"),
        Line("''.split(',')", #"[""]"#), Line("['a', 'b'].join() + ['a', 'b'].join('-')", #""aba-b""#),
        Line("'hello hello'.replace('he', 'we') + 'aa'.replace('a', 'b', 1)", #""wello welloba""#),
        Line("'ab'.replace('', '-')", #""-a-b-""#), Line("'ab'.replace('a', 'x', 0)", #""ab""#),
        Line(
            "'%s %d %.2f %e %b %o %x %X %%'.format(['a', 5, 1.005, 1500.0, 5, 8, 255, 'k'])",
            #""a 5 1.00 1.500000e+03 101 10 ff 6B %""#),
        Line("'%s|%s|%s'.format([[1, 'a'], {'b': 2, 'a': null}, duration('1m')])", #""[1, a]|{a: null, b: 2}|60s""#),
        Line("'%d'.format([2.5]) + '%f'.format([3])", #""2.53.000000""#),
    ])
    func `functions on strings work`(_ line: Line) throws {
        #expect(try evaluated(line.text).description == line.expected)
    }

    @Test(arguments: [
        Line("[math.greatest(1, 5, 3), math.least(1, 5, 3), math.greatest([4, 9]), math.least([4, 9])]", "[5, 1, 9, 4]"),
        Line("math.greatest(1, 2.5, 2u)", "2.5"), Line("math.least(-1.5, 2)", "-1.5"),
        Line("[math.ceil(1.2), math.floor(-1.2), math.round(-1.5), math.trunc(1.9)]", "[2.0, -2.0, -2.0, 1.0]"),
        Line("[math.abs(-5), math.sign(-5)]", "[5, -1]"), Line("[math.abs(-1.5), math.sign(0.0)]", "[1.5, 0.0]"),
        Line("[math.isNaN(0.0 / 0.0), math.isInf(1.0 / 0.0), math.isFinite(1.0)]", "[true, true, true]"),
        Line("[math.sqrt(9), math.sqrt(2.25)]", "[3.0, 1.5]"),
        Line("[math.bitAnd(6, 3), math.bitOr(6, 3), math.bitXor(6, 3), math.bitNot(6)]", "[2, 7, 5, -7]"),
        Line("[math.bitShiftLeft(1, 4), math.bitShiftRight(-1, 60), math.bitShiftLeft(1, 64)]", "[16, 15, 0]"),
        Line("[math.bitNot(0u), math.bitShiftRight(8u, 2)]", "[18446744073709551615u, 2u]"),
    ])
    func `mathematical functions work`(_ line: Line) throws {
        #expect(try evaluated(line.text).description == line.expected)
    }

    @Test(arguments: [
        Line("[3, 1, 2].sort()", "[1, 2, 3]"), Line("['b', 'a'].sort()", #"["a", "b"]"#),
        Line("[{'n': 2}, {'n': 1}].sortBy(x, x.n)", #"[{"n": 1}, {"n": 2}]"#),
        Line("['bb', 'a', 'cc'].sortBy(x, size(x))", #"["a", "bb", "cc"]"#),
        Line("[2, null, 1].sortBy(x, x)", "[1, 2, null]"), Line("[1, 2, 1, 2u].distinct()", "[1, 2]"),
        Line("[[1], [2, [3]]].flatten()", "[1, 2, [3]]"), Line("[1, [2, [3]]].flatten(2)", "[1, 2, 3]"),
        Line("[1, 2, 3, 4].slice(1, 3)", "[2, 3]"), Line("lists.range(3)", "[0, 1, 2]"), Line("lists.range(0)", "[]"),
        Line("[1, 2, 3].reverse()", "[3, 2, 1]"), Line("[1, 2].first()", "optional.of(1)"),
        Line("[1, 2].last().value()", "2"), Line("[].first().hasValue()", "false"),
        Line("sets.contains([1, 2, 3], [2, 3])", "true"), Line("sets.contains([], [1])", "false"),
        Line("sets.equivalent([1, 2, 2], [2, 1])", "true"), Line("sets.equivalent([1], [dyn(1u), 1.0])", "true"),
        Line("sets.intersects([1], [1, 2]) && !sets.intersects([1], [])", "true"),
        Line("base64.encode(b'hello')", #""aGVsbG8=""#),
        Line("base64.decode('aGVsbG8=') + base64.decode('aGVsbG8')", #"b"hellohello""#),
    ])
    func `functions on lists and sets, and encoders work`(_ line: Line) throws {
        #expect(try evaluated(line.text).description == line.expected)
    }

    @Test(arguments: [
        Line("optional.of(1)", "optional.of(1)"), Line("optional.none()", "optional.none()"),
        Line("optional.ofNonZeroValue('').hasValue()", "false"), Line("optional.ofNonZeroValue([1]).value()", "[1]"),
        Line("{'a': 1}.?a.orValue(0) + {'a': 1}.?b.orValue(7)", "8"), Line("{'a': {'b': 1}}.?a.b.value()", "1"),
        Line("[1][?0].value() + [1][?5].orValue(2)", "3"), Line("optional.none().or(optional.of(1)).value()", "1"),
        Line("optional.of(2).optMap(x, x * 2).value()", "4"), Line("optional.of([]).optFlatMap(x, x[?0]).hasValue()", "false"),
        Line("[?optional.none(), ?optional.of(1)]", "[1]"), Line("{?'a': optional.none(), ?'b': optional.of(1)}", #"{"b": 1}"#),
        Line("optional.unwrap([optional.of(1), optional.none()])", "[1]"),
        Line("[optional.of(1), optional.none()].unwrapOpt()", "[1]"), Line("has({'a': 1}.?a)", "true"),
        Line("type(optional.none()) == optional_type", "true"),
        Line("optional.of(1) == optional.of(1) && optional.none() != optional.of(1)", "true"),
    ])
    func `functions on optional values work`(_ line: Line) throws {
        #expect(try evaluated(line.text).description == line.expected)
    }

    @Test(arguments: [
        Line("'abcd'.matches('^a.*d$') && matches('abc', 'b')", "true"),
        Line("regex.replace('hello world hello', 'hello', 'hi')", #""hi world hi""#),
        Line("regex.replace('banana', 'a', 'x', 2)", #""bxnxna""#),
        Line("regex.replace('banana', 'a', 'x', 0)", #""banana""#),
        Line(#"regex.replace('foo bar', '(fo)o (ba)r', r'\2 \1')"#, #""ba fo""#),
        Line(#"regex.replace('ab', '', r'\\')"#, #""\\a\\b\\""#),
        Line("regex.extract('item-A, item-B', 'item-(\\\\w+)')", #"optional.of("A")"#),
        Line("regex.extract('HELLO', 'hello')", "optional.none()"),
        Line("regex.extract('hello world', 'hello(.*)').value()", #"" world""#),
        Line("regex.extractAll('id:123, id:456', 'id:\\\\d+')", #"["id:123", "id:456"]"#),
        Line("regex.extractAll('id:123, id:456', 'id:(\\\\d+)')", #"["123", "456"]"#),
        Line("regex.extractAll('id', 'assa')", "[]"),
        Line("regex.extractAll('a1b22', '[0-9]*')", #"["", "1", "22"]"#),
        Line("regex.replace('abxd', 'x*', '-')", #""-a-b-d-""#),
        Line("timestamp('2026-01-05T09:03:07.25Z').format('yyyy-MM-dd HH:mm')", #""2026-01-05 09:03""#),
        Line(
            "timestamp('2026-07-05T21:03:07Z').format(\"EEEE d MMMM yy, h:mm a 'o''clock' xxx z\", 'Europe/Berlin')",
            #""Sunday 5 July 26, 11:03 PM o'clock +02:00 CEST""#),
        Line("timestamp('2026-01-05T09:03:07.25Z').format('EEE MMM D H s SSS X VV', 'UTC')", #""Mon Jan 5 9 7 250 Z UTC""#),
    ])
    func `regular expressions and formats of times work`(_ line: Line) throws {
        #expect(try evaluated(line.text).description == line.expected)
    }

    @Test(arguments: [
        Line("isIP('10.0.0.1') && isIP('::1') && !isIP('10.0.0') && !isIP('10.0.0.01') && !isIP('fe80::1%en0')", "true"),
        Line("isCIDR('10.0.0.0/8') && !isCIDR('10.0.0.0/33') && !isCIDR('10.0.0.0/08')", "true"),
        Line("string(ip('2001:DB8:0:0:1:0:0:1'))", #""2001:db8::1:0:0:1""#),
        Line("ip('::').isUnspecified() && ip('127.0.0.1').isLoopback() && ip('::1').isLoopback()", "true"),
        Line("ip('8.8.8.8').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast()", "true"),
        Line(
            "ip('224.0.0.5').isLinkLocalMulticast() && ip('169.254.0.1').isLinkLocalUnicast() && ip('fe80::1').isLinkLocalUnicast()",
            "true"), Line("ip('10.0.0.1').family() + ip('::1').family()", "10"),
        Line("ip.isCanonical('2001:db8::1') && !ip.isCanonical('2001:DB8::1')", "true"),
        Line("ip('10.0.0.1') == ip('10.0.0.1') && type(ip('::')) == net.IP", "true"),
        Line("ip('::ffff:c0a8:1') == ip('192.168.0.1') && ip('192.168.0.1') in [ip('::ffff:c0a8:1')]", "true"),
        Line("ip('::ffff:c0a8:1') == ip('192.168.10.1') || ip('::ffff:c0a8:1') == ip('::c0a8:1')", "false"),
        Line("[ip('192.168.0.1'), ip('::ffff:c0a8:1')].distinct().size()", "1"),
        Line("ip('::ffff:c0a8:1').family() == 4 && string(ip('::ffff:c0a8:1')) == '192.168.0.1'", "true"),
        Line("ip('::ffff:7f00:1').isLoopback() && ip('::ffff:0:0').isUnspecified()", "true"),
        Line("ip('::ffff:a9fe:1').isLinkLocalUnicast()", "true"),
        Line("ip('::ffff:e000:5').isLinkLocalMulticast() && !ip('::ffff:ffff:ffff').isGlobalUnicast()", "true"),
        Line("ip.isCanonical('::ffff:c0a8:1')", "false"),
        Line("cidr('192.168.0.0/24').containsIP('::ffff:c0a8:1')", "true"),
        Line("cidr('192.168.0.0/24').containsIP(ip('::ffff:c0a8:1'))", "true"),
        Line("cidr('::ffff:c0a8:0/112').containsIP('192.168.0.1')", "true"),
        Line("cidr('::ffff:c0a8:0/112') == cidr('192.168.0.0/16')", "true"),
        Line("cidr('192.168.0.0/16').containsCIDR('::ffff:c0a8:100/120')", "true"),
        Line("cidr('::ffff:0:0/96').containsCIDR('10.0.0.0/8')", "true"),
        Line("cidr('::/0').containsIP('10.0.0.1') || cidr('::/0').containsIP('::ffff:a00:1')", "false"),
        Line("cidr('::/0').containsCIDR('10.0.0.0/8')", "false"),
        Line("cidr('::/0').containsIP('::1') && cidr('::ffff:a00:1/64').ip() == ip('10.0.0.1')", "true"),
        Line("string(cidr('::ffff:c0a8:1/112').masked())", #""192.168.0.0/16""#),
        Line("string(cidr(string(cidr('::ffff:a00:1/90'))))", #""::ffff:a00:1/90""#),
        Line("cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsIP(ip('11.0.0.1'))", "true"),
        Line("cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && !cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8'))", "true"),
        Line("string(cidr('10.1.2.3/8').masked()) + string(cidr('10.1.2.3/8').ip())", #""10.0.0.0/810.1.2.3""#),
        Line("cidr('::/0').prefixLength()", "0"),
    ])
    func `functions on IP addresses and networks work`(_ line: Line) throws {
        #expect(try evaluated(line.text).description == line.expected)
    }

    @Test func `a library that is not enabled adds no functions`() throws {
        let bare = Environment(libraries: [], host: host)
        #expect(problems("'a'.charAt(0)", in: bare) == "unknown-function: unknown function `charAt` at charAt")
        #expect(problems("[1].sortBy(x, x)", in: bare).contains("unknown-function"))
        #expect(problems("{}.?a", in: bare) == "optional-syntax: optional values are not enabled here at ?")
    }
}
