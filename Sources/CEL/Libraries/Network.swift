/// The `network` library: addresses and blocks of them.
enum Network {
    static let ipType = CELType.opaque("net.IP")
    static let cidrType = CELType.opaque("net.CIDR")

    static let functions: [Function] = conversions + addresses + blocks

    private static let conversions: [Function] = [
        Function(
            "ip",
            [
                .pure(.string, ipType) { _, value throws(EvaluationError) in try address(value) },
                .pure(member: true, cidrType, ipType) { _, value throws(EvaluationError) in .object(try block(value).address) },
            ]),
        Function("cidr", [.pure(.string, cidrType) { _, value throws(EvaluationError) in .object(try block(value)) }]),
        Function("isIP", [.pure(.string, .bool) { .bool(isAddress($1)) }]),
        Function("isCIDR", [.pure(.string, .bool) { .bool(isBlock($1)) }]),
        Function(
            "ip.isCanonical",
            [
                .pure(.string, .bool) { _, value throws(EvaluationError) in
                    guard case .object(let object) = try address(value) else { return false }
                    return .bool(.string(object.text ?? "") == value)
                }
            ]),
        Function(
            "string",
            [
                .pure(ipType, .string) { .string($1.text ?? "") },
                .pure(cidrType, .string) { .string($1.text ?? "") },
            ]),
    ]

    private static let addresses: [Function] = [
        property("family", .int) { .int($0.isV4 ? 4 : 6) },
        property("isUnspecified") { .bool($0.isUnspecified) },
        property("isLoopback") { .bool($0.isLoopback) },
        property("isGlobalUnicast") { .bool($0.isGlobalUnicast) },
        property("isLinkLocalMulticast") { .bool($0.isLinkLocalMulticast) },
        property("isLinkLocalUnicast") { .bool($0.isLinkLocalUnicast) },
    ]

    private static let blocks: [Function] = [
        Function(
            "containsIP",
            [ipType, .string].map { type in
                .pure(member: true, cidrType, type, .bool) { _, value, other throws(EvaluationError) in
                    guard case .object(let object) = try address(other), let ip = object as? IPAddress else { return false }
                    return .bool(try block(value).contains(ip))
                }
            }),
        Function(
            "containsCIDR",
            [cidrType, .string].map { type in
                .pure(member: true, cidrType, type, .bool) { _, value, other throws(EvaluationError) in
                    let (outer, inner) = (try block(value), try block(other))
                    return .bool(outer.bits <= inner.bits && outer.contains(inner.address))
                }
            }),
        Function(
            "masked",
            [
                .pure(member: true, cidrType, cidrType) { _, value throws(EvaluationError) in .object(try block(value).masked) }
            ]),
        Function(
            "prefixLength",
            [
                .pure(member: true, cidrType, .int) { _, value throws(EvaluationError) in .int(Int64(try block(value).bits)) }
            ]),
    ]

    private static func property(_ name: String, _ type: CELType = .bool, _ body: @escaping @Sendable (IPAddress) -> Value)
        -> Function
    {
        Function(
            name,
            [
                .pure(member: true, ipType, type) { _, value throws(EvaluationError) in
                    guard case .object(let object) = value, let ip = object as? IPAddress else {
                        throw .noOverload(name, [value])
                    }
                    return body(ip)
                }
            ])
    }

    private static func address(_ value: Value) throws(EvaluationError) -> Value {
        guard case .string(let text) = value else { return value }
        if text.utf8.contains(UInt8(ascii: "%")) { throw .invalid(Messages.zoneNotAllowed("IP Address")) }
        guard let parsed = IPAddress(text) else { throw .invalid(Messages.notAnAddress(text)) }
        if parsed.isDottedMapped { throw .invalid(Messages.mappedNotAllowed) }
        return .object(parsed)
    }

    private static func block(_ value: Value) throws(EvaluationError) -> AddressBlock {
        if case .object(let object) = value, let block = object as? AddressBlock { return block }
        guard case .string(let text) = value else { throw .noOverload("cidr", [value]) }
        if text.utf8.contains(UInt8(ascii: "%")) { throw .invalid(Messages.zoneNotAllowed("CIDR")) }
        guard let parsed = AddressBlock(text) else { throw .invalid(Messages.notABlock(text)) }
        if parsed.address.isDottedMapped { throw .invalid(Messages.mappedNotAllowed) }
        return parsed
    }

    private static func isAddress(_ value: Value) -> Bool {
        do throws(EvaluationError) { _ = try address(value) } catch { return false }
        return true
    }

    private static func isBlock(_ value: Value) -> Bool {
        do throws(EvaluationError) { _ = try block(value) } catch { return false }
        return true
    }
}
