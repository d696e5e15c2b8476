import Glibc
import NIOCore
import NIOPosix

/// Addresses outside the public internet: all of this machine's own, local networks, and the metadata services of clouds.
enum PrivateAddress {
    /// The reason why an address is refused.
    enum Refused: Error, Sendable {
        case address(String)
        /// Its port is not one of these.
        case port([Int])
    }

    /// The only ports allowed at a host that comes from a value, unless the connection names more, so that no value reaches a server
    /// of another protocol than HTTP.
    static let ports = [80, 443, 8080, 8443]

    /// Throws if a host has a private address, before connecting to it. Accepts a host without addresses.
    static func check(_ host: String, port: Int) async throws(Refused) {
        let found = try? await NIOThreadPool.singleton.runIfActive { try addresses(of: host, port: port) }
        for address in found ?? [] { try check(address) }
    }

    /// Whether a host is a literal address, which needs no lookup.
    static func isNumeric(_ host: String) -> Bool { (try? SocketAddress(ipAddress: host, port: 0)) != nil }

    /// Throws if an address of a current or planned connection is private.
    static func check(_ address: SocketAddress?) throws(Refused) {
        guard let address else { throw .address("an unknown address") }
        if isPrivate(address) { throw .address(address.ipAddress ?? "a socket of this machine") }
    }

    /// - Parameter isOwn: whether an address is one of this machine's. Those are private even if they are public on the internet: a
    ///   service that listens there may be meant for this machine only.
    static func isPrivate(_ address: SocketAddress, isOwn: ([UInt8]) -> Bool = PrivateAddress.isOwn) -> Bool {
        bytes(of: address).map { isPrivate($0, isOwn) } ?? true
    }

    /// The 4 or 16 bytes of an address; nil for a socket of this machine.
    static func bytes(of address: SocketAddress) -> [UInt8]? {
        switch address {
        // After the family and the port (ip(7)), and the flow label too (ipv6(7)).
        case .v4(let address): withUnsafeBytes(of: address.address) { Array($0[4..<8]) }
        case .v6(let address): withUnsafeBytes(of: address.address) { Array($0[8..<24]) }
        case .unixDomainSocket: nil
        }
    }

    /// Whether an address is one of this machine's: packets to it would come from the same address. The socket sends nothing. A list of
    /// the interfaces would need a netlink socket, which a sandbox may refuse.
    static func isOwn(_ bytes: [UInt8]) -> Bool {
        guard let address = try? SocketAddress(packedIPAddress: ByteBuffer(bytes: bytes), port: 9) else { return true }
        let socket = Glibc.socket(
            bytes.count == 4 ? AF_INET : AF_INET6, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        // Without IPv6, no such address can be reached.
        guard socket >= 0 else { return errno != EAFNOSUPPORT }
        defer { close(socket) }
        guard address.withSockAddr({ connect(socket, $0, socklen_t($1)) }) == 0 else { return false }
        var source = sockaddr_storage()
        return withUnsafeMutableBytes(of: &source) { source in
            var size = socklen_t(source.count)
            let name = source.assumingMemoryBound(to: sockaddr.self).baseAddress
            guard let name, getsockname(socket, name, &size) == 0 else { return true }
            return source[bytes.count == 4 ? 4..<8 : 8..<24].elementsEqual(bytes)
        }
    }

    private static func isPrivate(_ bytes: [UInt8], _ isOwn: ([UInt8]) -> Bool) -> Bool {
        (bytes.count == 4 ? isPrivate(v4: bytes) : isPrivate(v6: bytes, isOwn)) || isOwn(bytes)
    }

    private static func isPrivate(v4 bytes: [UInt8]) -> Bool {
        switch (bytes[0], bytes[1]) {
        case (0, _), (10, _), (127, _): true  // this network, private, loopback
        case (100, 64...127): true  // carrier-grade NAT
        case (169, 254): true  // link-local, and the metadata of clouds
        case (172, 16...31), (192, 168): true  // private
        case (192, 0): bytes[2] == 0  // protocol assignments
        case (198, 18...19): true  // benchmarks
        case (168, 63): bytes[2] == 129 && bytes[3] == 16  // the metadata of Azure
        case (224..., _): true  // multicast, reserved, broadcast
        default: false
        }
    }

    private static func isPrivate(v6 bytes: [UInt8], _ isOwn: ([UInt8]) -> Bool) -> Bool {
        let isZero = { (range: Range<Int>) in bytes[range].allSatisfy { $0 == 0 } }
        // IPv4 addresses embedded in IPv6: mapped, translated, compatible (with `::` and `::1`), NAT64, 6to4, Teredo.
        if isZero(0..<10), bytes[10] == 0xff, bytes[11] == 0xff { return isPrivate(Array(bytes[12...]), isOwn) }
        if isZero(0..<8), bytes[8] == 0xff, bytes[9] == 0xff, isZero(10..<12) { return isPrivate(Array(bytes[12...]), isOwn) }
        if isZero(0..<12) { return true }
        if bytes[0] == 0, bytes[1] == 0x64, bytes[2] == 0xff, bytes[3] == 0x9b {
            return !isZero(4..<12) || isPrivate(Array(bytes[12...]), isOwn)
        }
        if bytes[0] == 0x20, bytes[1] == 0x01, bytes[2] < 0x02 { return true }  // protocol assignments, among them Teredo
        if bytes[0] == 0x01, isZero(1..<8) { return true }  // discarded
        if bytes[0] == 0x20, bytes[1] == 0x02 { return isPrivate(Array(bytes[2..<6]), isOwn) }
        if bytes[0] & 0xfe == 0xfc || bytes[0] == 0xff { return true }  // unique local, multicast
        return bytes[0] == 0xfe && bytes[1] & 0x80 == 0x80  // link-local, and the former site-local
    }

    private static func addresses(of host: String, port: Int) throws -> [SocketAddress] {
        if let address = try? SocketAddress(ipAddress: host, port: port) { return [address] }
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var first: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &first) == 0, let first else { return [] }
        defer { freeaddrinfo(first) }
        var found: [SocketAddress] = []
        for entry in sequence(first: first, next: { $0.pointee.ai_next }) {
            guard let address = entry.pointee.ai_addr else { continue }
            switch entry.pointee.ai_family {
            case AF_INET:
                found.append(address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { SocketAddress($0.pointee) })
            case AF_INET6:
                found.append(address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { SocketAddress($0.pointee) })
            default: continue
            }
        }
        return found
    }
}
