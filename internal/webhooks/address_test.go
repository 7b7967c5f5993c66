package webhooks

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheGuardRefusesEveryKindOfReservedAddress(t *testing.T) {
	g, err := newGuard("")
	require.NoError(t, err)
	for _, address := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "100.127.255.255", "127.0.0.1", "127.255.255.254",
		"168.63.129.16", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1",
		"192.168.1.1", "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.255.255.255",
		"240.0.0.1", "255.255.255.255",
		"::", "::1", "::2", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:0:127.0.0.1",
		"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::7f00:1", "100::1", "2001::1", "2001:0:7f00:1::", "2001:2::1",
		"2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::1", "2002:808:808::1", "3fff::1", "5f00::1", "fc00::1",
		"fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "4000::1",
	} {
		assert.False(t, g.permits(netip.MustParseAddr(address)), address)
	}
	for _, address := range []string{
		"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "172.15.255.255", "172.32.0.0",
		"192.167.255.255", "223.255.255.255", "::ffff:8.8.8.8", "64:ff9b::808:808", "2606:4700::1111", "2a00:1450::1", "2003::1",
	} {
		assert.True(t, g.permits(netip.MustParseAddr(address)), address)
	}
}

func TestAllowedNetworksOpenTheirAddressesAlone(t *testing.T) {
	g, err := newGuard(" 10.1.0.0/16 , fd00:1::/32,127.0.0.0/8,")
	require.NoError(t, err)
	for _, address := range []string{"10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::a01:203", "fd00:1::9", "127.0.0.1"} {
		assert.True(t, g.permits(netip.MustParseAddr(address)), address)
	}
	for _, address := range []string{"10.2.0.1", "fd00:2::9", "::1", "169.254.169.254"} {
		assert.False(t, g.permits(netip.MustParseAddr(address)), address)
	}
}

func TestNetworksThatCannotBeMeantAreRefused(t *testing.T) {
	for networks, problem := range map[string]string{
		"10.1.2.3":               `"10.1.2.3" is no network`,
		"10.1.0.0/33":            `"10.1.0.0/33" is no network`,
		"intranet":               `"intranet" is no network`,
		"10.0.0.0/8,10.1.2.3/16": `the network is 10.1.0.0/16`,
		"::ffff:10.0.0.0/104":    `write it as 10.1.0.0/16`,
		"fe80::1%eth0/64":        `is no network`,
	} {
		_, err := New(Config{AllowedNetworks: networks})
		require.Error(t, err, networks)
		assert.Contains(t, err.Error(), problem)
	}
}

func TestTheDialerAsksTheGuardForEveryAddress(t *testing.T) {
	g, err := newGuard("")
	require.NoError(t, err)
	for _, address := range []string{"127.0.0.1:80", "[::1]:80", "[fe80::1%eth0]:80", "10.0.0.1:443", "nonsense", ""} {
		assert.ErrorIs(t, g.control("tcp", address, nil), errForbidden, address)
	}
	assert.NoError(t, g.control("tcp4", "8.8.8.8:443", nil))
	assert.NoError(t, g.control("tcp6", "[2606:4700::1111]:443", nil))
}
